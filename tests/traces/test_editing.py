"""Parts of traces, several in one, and larger ones."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from replayed import make_trace, row
from steelyard.errors import StoreError, UsageError
from steelyard.store.layout import Store
from steelyard.traces.editing import cut_trace, merge_traces, scale_trace
from steelyard.traces.folder import TraceFolder, create_trace
from steelyard.traces.replay.plan import make_plan
from steelyard.traces.replay.rows import Row, read_rows

SECOND = 1_000_000_000
ROWS = [
    row(start=0, call="open", path="/d/a", descriptor=3, result=3, detail=os.O_SYNC, file_size=100),
    *(
        row(start=n * SECOND, call="pread", path="/d/a", descriptor=3, offset=10 * n, size=10, result=10)
        for n in range(1, 5)
    ),
    row(start=5 * SECOND, call="open", path="/e", descriptor=4, result=4, detail=0, file_size=7),
    row(start=6 * SECOND, call="pread", path="/e", descriptor=4, offset=0, size=7, result=7),
]


@pytest.fixture
def trace(tmp_path: Path) -> TraceFolder:
    return make_trace(tmp_path / "trace", ROWS, began=1000.0)


@pytest.fixture
def folder(tmp_path: Path) -> TraceFolder:
    return create_trace(Store(tmp_path / "store"), "new")


def rows(folder: TraceFolder) -> list[Row]:
    return list(read_rows(folder.table))


def test_a_part_begins_with_what_was_open(trace: TraceFolder, folder: TraceFolder) -> None:
    assert cut_trace(trace, folder, first=2.0, last=4.0) == 2
    note, *calls = rows(folder)
    assert (note.call, note.path, note.descriptor, note.result, note.file_size) == (
        "found",
        "/d/a",
        3,
        20,
        40,
    )
    assert note.detail == os.O_SYNC
    assert [(each.start, each.offset) for each in calls] == [(0, 20), (SECOND, 30)]


def test_a_part_knows_where_links_lead(tmp_path: Path, folder: TraceFolder) -> None:
    notes = [
        row(start=n * SECOND, call="resolved", path=f"/now/{name}", other=f"/v7/{name}")
        for n, name in ((1, "x"), (3, "x"), (1, "y"), (9, "x"))
    ]
    calls = [row(start=n * SECOND, call="stat", path="/now/x") for n in range(5)]
    trace = make_trace(tmp_path / "linked", [*notes, *calls])
    assert cut_trace(trace, folder, first=2.0, last=4.0) == 2
    found = [(each.start, each.path) for each in rows(folder) if each.call == "resolved"]
    assert found == [(0, "/now/x"), (SECOND, "/now/x")]


def test_children_are_those_of_their_own_copy(tmp_path: Path, folder: TraceFolder) -> None:
    """A descriptor of the parent's is known to the child in each stream."""
    calls = [
        row(call="open", path="/a", descriptor=3, result=3, detail=0, file_size=9),
        row(start=5, call="pread", path="/a", descriptor=3, offset=0, size=9, result=9, process=2, thread=2),
    ]
    processes = [{"process": 1, "parent": 0}, {"process": 2, "parent": 1}]
    trace = make_trace(tmp_path / "forked", calls, processes=processes)
    scale_trace(trace, folder, streams=3)
    assert not make_plan(folder, tmp_path / "plan").left_out


def test_a_part_by_path(trace: TraceFolder, folder: TraceFolder) -> None:
    assert cut_trace(trace, folder, first=0, last=100, under="/d/") == 5
    assert {each.path for each in rows(folder)} == {"/d/a"}


def test_nothing_left_is_said(trace: TraceFolder, folder: TraceFolder) -> None:
    with pytest.raises(UsageError, match="nothing of the trace is left"):
        cut_trace(trace, folder, first=100, last=200)
    assert not folder.table.exists()


def test_several_in_one_keep_their_processes_and_distance(
    trace: TraceFolder, folder: TraceFolder, tmp_path: Path
) -> None:
    later = make_trace(tmp_path / "later", ROWS, began=1002.0)
    assert merge_traces([trace, later], folder) == 2 * len(ROWS)
    found = rows(folder)
    assert len({each.process for each in found}) == 2
    begins = Counter(each.process for each in found if each.start < 2 * SECOND)
    assert list(begins.values()) == [2], "the second begins two seconds later"


def test_together_all_begin_at_once(trace: TraceFolder, folder: TraceFolder) -> None:
    merge_traces([trace, trace], folder, together=True)
    assert [each.start for each in rows(folder)][:2] == [0, 0]


def test_larger_and_more_often(trace: TraceFolder, folder: TraceFolder) -> None:
    assert scale_trace(trace, folder, sizes=3, streams=2) == 2 * len(ROWS)
    found = rows(folder)
    assert {each.path for each in found} == {"/d/a", "/e", "/stream-1/d/a", "/stream-1/e"}
    assert {each.result for each in found if each.kind == "read"} == {30, 21}
    assert {each.file_size for each in found if each.call == "open"} == {300, 21}
    assert len({each.process for each in found}) == 2


def test_a_changed_trace_is_refused(trace: TraceFolder, folder: TraceFolder) -> None:
    trace.table.write_bytes(trace.table.read_bytes()[:-10])
    with pytest.raises(StoreError, match="is not what was recorded"):
        merge_traces([trace], folder)
