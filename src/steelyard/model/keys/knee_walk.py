"""The way of a search for a knee: `find: {knee: requests, of: iops, tolerance: 5%}`.

The level is doubled until it brings no more than `tolerance` over the level before. The knee is then at most
that level before, and more than the one before it, because that was beaten: this bracket is halved, on a
logarithmic scale, until it is narrower than `within`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from steelyard.model.keys.walk import Level, Walk

if TYPE_CHECKING:
    from steelyard.model.keys.find import SearchBounds

IsEnough = Callable[..., bool | None]
"""`(current, level, *later)`: whether no later level beats this one by more than the tolerance.

None while `current`, the one of them that is measured now, needs more repetitions.
"""


def walk(bounds: SearchBounds, is_enough: IsEnough) -> Walk:
    """How far a search for a knee has come."""
    done: list[Level] = []
    level: Level | None = bounds.low
    while level is not None:
        enough = is_enough(level, done[-1], level) if done else is_enough(level, level)
        if enough is None:
            return Walk(tuple(done), level, done[-2] if len(done) > 1 else None, None)
        done.append(level)
        if enough and len(done) > 1:
            return _halve(bounds, done, is_enough)
        level = bounds.next_level(level, None)
    return Walk(tuple(done), None, done[-2], None)


def _halve(bounds: SearchBounds, done: list[Level], is_enough: IsEnough) -> Walk:
    """The last of `done` brought nothing over the one before, which beat the one before that."""
    below, above = done[-3] if len(done) > 2 else None, done[-2]
    while below is not None and not bounds.is_narrow(below, above):
        level = bounds.middle(below, above)
        enough = is_enough(level, level, *(each for each in done if each > level))
        if enough is None:
            return Walk(tuple(done), level, below, above)
        done.append(level)
        below, above = (below, level) if enough else (level, above)
    return Walk(tuple(done), None, below, above)


def count_left(bounds: SearchBounds, way: Walk) -> tuple[int, int]:
    """How many levels a search has still to settle, with the current one, at least and at most."""
    if way.current is None:
        return 0, 0
    if way.above is not None:
        return bounds.count_probes(way.below, way.above)
    done, ladder = len(way.finished_levels), list(way.levels)
    while (level := bounds.next_level(ladder[-1], None)) is not None:
        ladder.append(level)
    endless = len(ladder) - done  # where even the last level brings more
    counts = [_count_from(bounds, ladder, end, done) for end in range(max(1, done), len(ladder))]
    return min(endless, *(low for low, _ in counts)), max(endless, *(high for _, high in counts))


def _count_from(bounds: SearchBounds, ladder: list[Level], end: int, done: int) -> tuple[int, int]:
    """The same where the doubling ends at `ladder[end]`."""
    halvings = bounds.count_probes(ladder[end - 2], ladder[end - 1]) if end > 1 else (0, 0)
    return end + 1 - done + halvings[0], end + 1 - done + halvings[1]
