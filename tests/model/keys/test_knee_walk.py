"""The way of a search for a knee: where it goes, when it ends, and how many levels it still has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.keys.find import SearchBounds
from steelyard.model.keys.walk import Level, Walk


def bounds(high: Level = 256, within: float = 0.5, low: Level = 1) -> SearchBounds:
    whole = isinstance(low, int) and isinstance(high, int)
    return SearchBounds(low, high, within, whole, "knee")


def walked(found: SearchBounds, knee: float, tolerance: float = 0.05) -> Walk:
    """The walk on a disk whose throughput grows with its requests up to the knee, and then no more."""

    def is_enough(_: Level, level: Level, *later: Level) -> bool:
        return all(min(one, knee) <= min(level, knee) * (1 + tolerance) for one in later)

    return found.walk(is_enough)


@pytest.mark.parametrize(
    ("knee", "levels", "above"),
    [
        (1, (1, 2), 1),
        (2, (1, 2, 4), 2),
        (13, (1, 2, 4, 8, 16, 32, 11), 16),
        (10, (1, 2, 4, 8, 16, 32, 11), 11),
        (128, (1, 2, 4, 8, 16, 32, 64, 128, 256, 91), 128),
        (200, (1, 2, 4, 8, 16, 32, 64, 128, 256), None),
    ],
)
def test_it_doubles_until_there_is_no_gain_and_then_halves(
    knee: float, levels: tuple[Level, ...], above: Level | None
) -> None:
    walk = walked(bounds(), knee)
    assert (walk.finished_levels, walk.current, walk.above) == (levels, None, above)


@given(high=st.integers(2, 4096), knee=st.floats(1, 5000), within=st.sampled_from([0.01, 0.05, 0.5, 1.0]))
def test_the_bracket_holds_the_knee(high: int, knee: float, within: float) -> None:
    found = bounds(high, within)
    walk = walked(found, knee, tolerance=0.0)
    assert walk.current is None
    if walk.above is not None:
        assert (walk.below or 0) < knee <= walk.above or walk.above == 1
        assert walk.below is None or found.is_narrow(walk.below, walk.above)


@given(high=st.integers(2, 4096), verdicts=st.integers(0, 2**60), stop=st.integers(0, 20))
def test_what_is_expected_bounds_what_comes(high: int, verdicts: int, stop: int) -> None:
    found = bounds(high, 0.1)

    def walk(most: int) -> Walk:
        seen: dict[tuple[Level, ...], bool] = {}

        def is_enough(*levels: Level) -> bool | None:
            if len(seen) >= most:
                return None
            return seen.setdefault(levels, bool(verdicts >> len(seen) & 1))

        return found.walk(is_enough)

    whole, part = walk(10**6), walk(stop)
    least, most = found.count_left(part)
    assert least <= len(whole.finished_levels) - len(part.finished_levels) <= most
    assert found.count_left(whole) == (0, 0)
    assert found.count_levels()[0] <= len(whole.finished_levels) <= found.count_levels()[1]
