"""How often a history raises an alarm although nothing changed, and how soon it finds a change."""

from __future__ import annotations

from collections.abc import Sequence

from bench.coverage import share
from bench.worlds import World
from steelyard.stats.over_time.change_points import FEWEST, SMALLEST_SEGMENT, find_change_points

RUNS, BEFORE, SOON = 60, 40, 12
"""Runs of a history in which nothing changes; runs before a change, and after it until it is to be found."""


def alarm_share(world: World, histories: int, seed: int) -> float:
    """The share of histories with an alarm at any look; one look after each run."""
    return share(_raises_alarm(row) for row in world.rows(seed, histories, RUNS))


def found_share(world: World, shift: float, histories: int, seed: int) -> float:
    """The share of changes that some look within 12 runs names, at the right run or one near it."""
    rows = world.rows(seed, histories, BEFORE + SOON)
    shifted = ([*row[:BEFORE], *(value + shift for value in row[BEFORE:])] for row in rows)
    return share(_is_found(row) for row in shifted)


def _raises_alarm(row: Sequence[float]) -> bool:
    return any(find_change_points(row[:n]) for n in range(FEWEST, len(row) + 1))


def _is_found(row: Sequence[float]) -> bool:
    looks = (find_change_points(row[:n]) for n in range(BEFORE + 1, len(row) + 1))
    return any(abs(point.at - BEFORE) <= SMALLEST_SEGMENT for points in looks for point in points)
