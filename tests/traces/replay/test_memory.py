"""Pages of memory that a replay uses as its application did."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from steelyard.traces.replay.memory import PAGE, MemoryPages

CALLS = st.lists(
    st.tuples(st.integers(1, 3), st.integers(1024, 1100), st.integers(1, 20 * PAGE)), min_size=1, max_size=30
)


def test_pages_of_processes_lie_one_after_the_other_without_gaps() -> None:
    pages = MemoryPages()
    for process, page, size in ((1, 5000, 2 * PAGE), (1, 9000, 1), (1, 5002, PAGE), (2, 5000, PAGE)):
        pages.note(process, page, size)
    layout = pages.lay_out()
    assert layout.pages == 3 + 1 + 1
    assert list(layout.find(1, np.array([5000, 5001, 5002, 9000, 0]))) == [1, 2, 3, 4, 0]
    assert list(layout.find(2, np.array([5000]))) == [5]


def test_what_is_no_page_has_no_place() -> None:
    pages = MemoryPages()
    assert pages.note(1, None, 10) == pages.note(1, 2, 10) == pages.note(1, 5000, 0) == 0
    layout = pages.lay_out()
    assert (layout.pages, *layout.find(1, np.array([0]))) == (0, 0)


@given(CALLS)
def test_data_that_were_apart_stay_apart_and_those_side_by_side_do(calls: list[tuple[int, int, int]]) -> None:
    pages = MemoryPages()
    for call in calls:
        pages.note(*call)
    layout, places = pages.lay_out(), dict[tuple[int, int], int]()
    for process, page, size in calls:
        (first,) = layout.find(process, np.array([page]))
        for number in range(-(-size // PAGE)):
            assert places.setdefault((process, page + number), first + number) == first + number
    assert sorted(places.values()) == list(range(1, layout.pages + 1))
