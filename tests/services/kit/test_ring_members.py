"""Who is in a ring: whoever joins gets tokens that nobody has, whoever is beside is no client's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from steelyard.services.kit.cql_ring import even_tokens, separate_tokens
from steelyard.services.kit.ring_members import RingMembers


def hosts(count: int) -> tuple[Any, ...]:
    return tuple(SimpleNamespace(name=f"h{n}", address=f"10.0.0.{n}") for n in range(1, count + 1))


def test_all_that_have_a_node_are_told_those_of_clients_first() -> None:
    one, two, three = hosts(3)
    members = RingMembers([one], (three,), {"h1": (5, -7), "h3": (6,)})
    members.ring.append(two)
    assert members.hosts == (one, two, three)
    assert members.addresses == ("10.0.0.1", "10.0.0.2", "10.0.0.3")
    assert members.token_words(one) == ("5", "-7")


@given(st.integers(1, 6), st.integers(0, 6), st.integers(1, 4), st.integers(1, 4))
def test_no_token_is_in_a_ring_twice_however_it_grows(nodes: int, beside: int, each: int, more: int) -> None:
    there = hosts(nodes + beside + more)
    tokens = dict(zip((host.name for host in there[:nodes]), even_tokens(nodes, each), strict=True))
    taken = [token for own in tokens.values() for token in own]
    for host, own in zip(there[nodes : nodes + beside], even_tokens(max(1, beside), each), strict=False):
        tokens[host.name] = separate_tokens(own, taken)
    members = RingMembers(list(there[:nodes]), there[nodes : nodes + beside], tokens)
    for host in there[nodes + beside :]:
        members.tokens[host.name] = members.choose_tokens(each)
        members.ring.append(host)
    every = [token for own in members.tokens.values() for token in own]
    assert len(set(every)) == len(every) == (nodes + beside + more) * each
