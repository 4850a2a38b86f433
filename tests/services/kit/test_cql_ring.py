"""Which nodes of a former ring hold what belongs to a node of another one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steelyard.services.kit.cql_ring import even_tokens, find_sources

TOKENS = st.integers(-(2**63), 2**63 - 1)


@st.composite
def rings(draw: st.DrawFn, most: int = 5) -> list[tuple[int, ...]]:
    """A ring of a few nodes, each with a few tokens of its own."""
    nodes, each = draw(st.integers(1, most)), draw(st.integers(1, 4))
    tokens = draw(st.lists(TOKENS, min_size=nodes * each, max_size=nodes * each, unique=True))
    return [tuple(tokens[node::nodes]) for node in range(nodes)]


def holders(ring: list[tuple[int, ...]], row: int, copies: int) -> list[int]:
    """Who keeps a row of this token: the owner of its range, and the nodes that follow on the ring."""
    owners = sorted((token, node) for node, tokens in enumerate(ring) for token in tokens)
    after = [node for token, node in owners if token >= row] + [node for _, node in owners]
    return list(dict.fromkeys(after))[:copies]


@given(rings(), rings(), st.integers(1, 3), st.lists(TOKENS, max_size=20))
def test_every_replica_of_a_row_is_a_source_of_who_keeps_it_now(before, now, copies, rows):
    found = find_sources(before, now, copies)
    for row in rows:
        for node in holders(now, row, copies):
            assert set(holders(before, row, copies)) <= set(found[node])


@given(rings(), st.integers(1, 3))
def test_a_ring_that_is_the_same_needs_at_least_itself(ring, copies):
    assert all(node in found for node, found in enumerate(find_sources(ring, ring, copies)))


def test_not_every_node_is_a_source_of_every_other():
    found = find_sources(even_tokens(4, 1), even_tokens(8, 1), 1)
    assert max(map(len, found)) == 2
