"""Where the nodes of a ring stand: tokens of Murmur3, for Cassandra and what follows it.

Tokens are told to the nodes, not drawn by them: a ring is balanced from its first moment, all of its nodes
can start at once, and the same experiment has the same ring each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

Tokens = tuple[int, ...]
LOWEST, HIGHEST = -(2**63), 2**63 - 1  # into which Murmur3Partitioner hashes
_RING = 2**64


def even_tokens(nodes: int, each: int) -> list[tuple[int, ...]]:
    """Tokens of so many nodes: all ranges of one width, a node's own spread over the ring."""
    count = nodes * each
    tokens = [LOWEST + _RING * (2 * place + 1) // (2 * count) for place in range(count)]
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
        new.append((widest - widths[widest] // 2 - LOWEST) % _RING + LOWEST)
    return tuple(sorted(new))


def separate_tokens(tokens: Iterable[int], taken: Iterable[int]) -> Tokens:
    """The same tokens, each moved to the next that nobody has: a token may be in a ring once only."""
    used, free_tokens = set(taken), []
    for wanted in tokens:
        token = wanted
        while token in used:
            token = (token + 1 - LOWEST) % _RING + LOWEST
        used.add(token)
        free_tokens.append(token)
    return tuple(free_tokens)


def range_widths(tokens: Iterable[int]) -> dict[int, int]:
    """How much of the ring belongs to each token: from the one before it to itself."""
    ordered = sorted(tokens)
    before = [ordered[-1], *ordered]
    return {token: (token - last) % _RING or _RING for token, last in zip(ordered, before, strict=False)}


def find_sources(before: Sequence[Tokens], now: Sequence[Tokens], copies: int) -> list[list[int]]:
    """Which nodes of a former ring may hold what belongs to each node of this one; places in `before`.

    `copies`: on how many nodes a row is kept, on the owner of its range and on those that follow it on the
    ring, as SimpleStrategy and NetworkTopologyStrategy in one rack place them.
    """
    held, owned = _assign_ranges(before, before, now, copies), _assign_ranges(now, before, now, copies)
    return [[place for place, ranges in enumerate(held) if ranges & mine] for mine in owned]


def _assign_ranges(
    ring: Sequence[Tokens], before: Sequence[Tokens], now: Sequence[Tokens], copies: int
) -> list[set[int]]:
    """What each node of a ring holds: the ranges of both rings' tokens, each named by where it ends."""
    owners = sorted((token, node) for node, tokens in enumerate(ring) for token in tokens)
    held: list[set[int]] = [set() for _ in ring]
    for end in {token for tokens in (*before, *now) for token in tokens}:
        first = next((place for place, (token, _) in enumerate(owners) if token >= end), 0)
        following = dict.fromkeys(node for _, node in (*owners[first:], *owners[:first]))
        for node in list(following)[:copies]:
            held[node].add(end)
    return held


def rackdc_properties(datacenter: str) -> str:
    """cassandra-rackdc.properties."""
    return f"dc={datacenter}\nrack=rack1\n"
