"""What a call of one thread waits for in another."""

from __future__ import annotations

from typing import Any

import pytest

from replayed import row
from steelyard.traces.replay.order import CallMark, ReplayOrder

O_CREAT = 0o100


def waits(*calls: tuple[int, dict[str, Any]]) -> list[list[int]]:
    """What each call waits for, as places in the list; each is given with its thread."""
    order, counts, places, found = ReplayOrder(), dict[int, int](), dict[tuple[int, int], int](), []
    for place, (thread, fields) in enumerate(calls):
        counts[thread] = counts.get(thread, 0) + 1
        each = row(start=100 * place, duration=10, **fields)
        places[thread, counts[thread]] = place
        mark = CallMark(each.end, thread, counts[thread])
        handle = fields.get("descriptor")
        after = order.find_waits(each, mark, each.path or "", each.other, handle)
        found.append(sorted(places[one.thread, one.nth] for one in after))
    return found


def test_a_descriptor_is_opened_before_it_is_used_and_closed_after() -> None:
    opened = {"call": "open", "path": "a", "descriptor": 0, "result": 3}
    read = {"call": "pread", "path": "a", "descriptor": 0, "offset": 0, "result": 10}
    closed = {"call": "close", "path": "a", "descriptor": 0}
    assert waits((0, opened), (1, read), (2, read), (0, closed))[1:] == [[0], [0, 1], [1, 2]]


@pytest.mark.parametrize("change", ["unlink", "rename", "mkdir", "rmdir"])
def test_a_name_is_used_before_it_changes_and_after_it_has_changed(change: str) -> None:
    look = {"call": "stat", "path": "a"}
    changed = {"call": change, "path": "a", "other": "b" if change == "rename" else None}
    found = waits((0, look), (1, look), (0, changed), (1, look))
    assert found[2:] == [[1], [2]]


def test_what_was_written_is_read_after_it() -> None:
    write = {"call": "pwrite", "path": "a", "offset": 0, "result": 100}
    same = {"call": "pread", "path": "a", "offset": 50, "result": 10}
    apart = {"call": "pread", "path": "a", "offset": 1 << 20, "result": 10}
    begun = {"call": "stat", "path": "elsewhere"}
    found = waits((0, write), (1, begun), (2, begun), (1, same), (2, apart))
    assert 0 in found[1], "a thread's first call comes after the one that ended last"
    found = waits((1, begun), (2, begun), (0, write), (1, same), (2, apart))
    assert found[3:] == [[2], []]


def test_a_sync_comes_after_what_it_saves_and_an_open_after_the_close_of_who_wrote() -> None:
    begun = {"call": "stat", "path": "elsewhere"}
    write = {"call": "pwrite", "path": "a", "descriptor": 0, "offset": 0, "result": 100}
    sync = {"call": "fsync", "path": "a", "descriptor": 1}
    close = {"call": "close", "path": "a", "descriptor": 0}
    again = {"call": "open", "path": "a", "descriptor": 2, "result": 3}
    found = waits((1, begun), (0, write), (1, sync), (0, close), (1, again))
    assert found[2] == [1]
    assert found[4] == [3]


def test_what_overlapped_waits_for_nothing() -> None:
    order = ReplayOrder()
    one = row(start=0, duration=1000, call="pwrite", path="a", offset=0, result=10)
    two = row(start=500, duration=10, call="pread", path="a", offset=0, result=10)
    assert order.find_waits(one, CallMark(one.end, 0, 1), "a", None, None) == []
    assert order.find_waits(two, CallMark(two.end, 1, 1), "a", None, None) == []


def test_nobody_waits_twice_for_the_same() -> None:
    write = {"call": "pwrite", "path": "a", "offset": 0, "result": 100}
    read = {"call": "pread", "path": "a", "offset": 0, "result": 100}
    assert waits((0, write), (1, read), (1, read))[1:] == [[0], []]


def test_a_file_is_created_before_others_open_it() -> None:
    made = {"call": "open", "path": "a", "descriptor": 0, "detail": O_CREAT, "result": 3}
    opened = {"call": "open", "path": "a", "descriptor": 1, "result": 3}
    begun = {"call": "stat", "path": "elsewhere"}
    assert waits((1, begun), (0, made), (1, opened))[2] == [1]
