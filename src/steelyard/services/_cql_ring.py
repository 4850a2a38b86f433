"""Where the nodes of a ring stand: tokens of Murmur3, for Cassandra and what follows it.

Tokens are told to the nodes, not drawn by them: a ring is balanced from its first moment, all of its nodes
can start at once, and the same experiment has the same ring each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

_LOWEST = -(2**63)
_RING = 2**64  # Murmur3Partitioner hashes into [-2^63, 2^63 - 1]


def even_tokens(nodes: int, each: int) -> list[tuple[int, ...]]:
    """Tokens of so many nodes: all ranges of one width, a node's own spread over the ring."""
    count = nodes * each
    tokens = [_LOWEST + _RING * (2 * place + 1) // (2 * count) for place in range(count)]
    return [tuple(tokens[node::nodes]) for node in range(nodes)]


def more_tokens(owned: Sequence[Sequence[int]], count: int) -> tuple[int, ...]:
    """Tokens of a node that joins: half of the widest range of whoever owns most, and so on."""
    owners = {token: node for node, tokens in enumerate(owned) for token in tokens}
    new: list[int] = []
    for _ in range(count):
        widths = range_widths([*owners, *new])
        owns: Counter[int] = Counter()
        for token, node in owners.items():
            owns[node] += widths[token]
        most = max(owns.values())
        its = [token for token, node in owners.items() if owns[node] == most]
        widest = max(its, key=lambda token: (widths[token], -token))
        new.append((widest - widths[widest] // 2 - _LOWEST) % _RING + _LOWEST)
    return tuple(sorted(new))


def range_widths(tokens: Iterable[int]) -> dict[int, int]:
    """How much of the ring belongs to each token: from the one before it to itself."""
    ordered = sorted(tokens)
    before = [ordered[-1], *ordered]
    return {token: (token - last) % _RING or _RING for token, last in zip(ordered, before, strict=False)}
