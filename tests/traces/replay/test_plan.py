"""From calls to the plan of their replay."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from replayed import make_trace, row
from steelyard.errors import StoreError, UsageError
from steelyard.traces.folder import TraceFolder
from steelyard.traces.replay.places import Landmarks
from steelyard.traces.replay.plan import Planner, make_plan
from steelyard.traces.replay.rows import Row
from steelyard.traces.replay.tree import Tree

CREATE = os.O_CREAT | os.O_RDWR


def plan(*rows: Row, **more: Any) -> Planner:
    """All of these taken in, one after the other where they do not say when."""
    landmarks = Landmarks.of(rows)
    planner = Planner(Tree(linked=landmarks.links), **more)
    for number, each in enumerate(rows):
        planner.take(replace(each, start=each.start or 10 * number))
    return planner


def given_files(planner: Planner) -> dict[str, tuple[bool, int]]:
    return {each.path: (each.is_directory, each.size) for each in planner.tree.given}


def opened(path: str, descriptor: int = 3, **more: Any) -> Row:
    return row(call="open", path=path, descriptor=descriptor, result=descriptor, **{"detail": 0, **more})


def test_a_file_that_is_opened_was_there_with_its_size() -> None:
    planner = plan(opened("/d/a", file_size=100), opened("/d/b", detail=CREATE, file_size=0))
    assert given_files(planner) == {"d": (True, 0), "d/a": (False, 100)}


def test_a_file_that_is_looked_at_first_has_the_size_with_which_it_is_opened() -> None:
    looks = [row(call="stat", path="/a")] * 2
    planner = plan(*looks, opened("/a", file_size=100), opened("/a", file_size=300))
    assert given_files(planner) == {"a": (False, 100)}


@pytest.mark.parametrize(
    ("first", "there"),
    [
        (row(call="stat", path="/a", error="ENOENT"), False),
        (row(call="stat", path="/a"), True),
        (row(call="unlink", path="/a"), True),
        (row(call="mkdir", path="/a"), False),
        (row(call="mkdir", path="/a", error="EEXIST"), True),
        (row(call="rename", path="/a", other="/b"), True),
        (row(call="rename", path="/b", other="/a"), False),
        (row(call="readlink", path="/a", error="EINVAL"), True),
        (opened("/a", detail=CREATE | os.O_EXCL, error="EEXIST"), True),
    ],
)
def test_the_first_call_on_a_name_tells_whether_it_was_there(first: Row, there: bool) -> None:
    assert ("a" in given_files(plan(first, row(call="stat", path="/a")))) == there


def test_files_behind_links_are_given_once_where_they_are() -> None:
    planner = plan(
        row(call="stat", path="/d/now/x"),
        opened("/d/now/x", file_size=100),
        row(call="resolved", path="/d/now/x", other="/d/v7/x"),
        opened("/d/v7/x", file_size=100),
        row(call="readlink", path="/d/now", other="/d/v7", result=2),
        row(call="symlink", path="/d/next", other="/d/v8"),
        row(call="rename", path="/d/next", other="/d/now"),
        opened("/d/now/x", file_size=300),
        row(call="unlink", path="/d/now"),
        row(call="stat", path="/d/now"),
    )
    given = {each.path: (each.kind, each.size, each.target) for each in planner.tree.given}
    assert given == {
        "d": ("directory", 0, None),
        "d/now": ("link", 0, "d/v7"),
        "d/v7": ("directory", 0, None),
        "d/v7/x": ("file", 100, None),
        "d/v8": ("directory", 0, None),
        "d/v8/x": ("file", 300, None),
    }


def test_what_was_written_behind_a_link_is_read_after_it() -> None:
    planner = plan(
        opened("/now/x", detail=CREATE, file_size=0),
        row(call="resolved", path="/now/x", other="/v7/x"),
        row(call="pwrite", path="/now/x", descriptor=3, offset=0, size=1, result=1),
        opened("/v7/x", 4, thread=2),
        row(call="pread", path="/v7/x", descriptor=4, offset=0, size=1, result=1, thread=2),
        row(call="pwrite", path="/now/x", descriptor=3, offset=0, size=1, result=1),
        row(call="pread", path="/v7/x", descriptor=4, offset=0, size=1, result=1, thread=2),
    )
    assert planner.threads[1].count_waits() == 2


def test_descriptors_are_those_of_their_process_or_of_the_one_that_forked_it() -> None:
    planner = plan(
        opened("/a"),
        row(call="pread", path="/a", descriptor=3, offset=0, size=1, result=1, process=2, thread=2),
        row(call="close", path="/a", descriptor=3, process=2, thread=2),
        row(call="pread", path="/a", descriptor=3, offset=0, size=1, result=1),
        row(call="close", path="/a", descriptor=3),
        row(call="pread", path="/a", descriptor=3, offset=0, size=1, result=1),
        parents={2: 1},
    )
    assert planner.left_out == {"close": 1, "pread": 1}, "a child that closes does not close its parent's"
    assert [len(thread) for thread in planner.threads] == [3, 1]


def test_a_number_is_given_again_only_after_it_was_given_back() -> None:
    """The one who opens begins before the other closes, and gets the number that this gives back."""
    planner = plan(
        opened("/a", start=0),
        opened("/b", start=10, duration=20, thread=2),
        row(start=15, duration=2, call="close", path="/a", descriptor=3),
        row(start=40, call="pread", path="/b", descriptor=3, offset=0, size=1, result=1, thread=2),
    )
    assert not planner.left_out
    assert [handle for thread in planner.threads for handle in thread.read_operations()["handle"]] == [
        0,
        0,
        1,
        1,
    ]


def test_a_copied_descriptor_is_copied_again() -> None:
    planner = plan(
        opened("/a"),
        row(call="dup", path="/a", descriptor=10, detail=3, result=10),
        row(call="pwrite", path="/a", descriptor=10, offset=0, size=1, result=1),
    )
    assert list(planner.threads[0].read_operations()["handle"]) == [0, 1, 1]
    assert not planner.left_out


@pytest.mark.parametrize(
    ("cpus", "cores"), [({1: 4, 2: 2}, [1, 0, None]), ({1: 4, 2: 4}, [None] * 3), ({}, [None] * 3)]
)
def test_processes_that_were_bound_to_cores_of_their_own_are_again(
    tmp_path: Path, cpus: dict[int, int], cores: list[int | None]
) -> None:
    looks = [row(call="stat", path="/a", process=number, thread=number) for number in (1, 2, 3)]
    processes = [{"process": n, "parent": 0, **({"cpu": cpus[n]} if n in cpus else {})} for n in (1, 2, 3)]
    make_plan(make_trace(tmp_path / "trace", looks, processes=processes), tmp_path / "plan")
    head = (tmp_path / "plan").read_bytes().partition(b"\n")[0]
    assert json.loads(head)["cores"] == cores


def test_what_is_no_file_of_ours_is_left_out() -> None:
    planner = plan(
        row(call="read", path="pipe:[1]", descriptor=0, size=1, result=1),
        row(call="flock", path="/a", descriptor=3),
        row(call="sync"),
        row(call="stat", path="/elsewhere/a"),
        row(call="stat", path="/under/a"),
        under="/under",
    )
    assert planner.left_out == {"read": 1, "flock": 1, "sync": 1, "stat": 1}


def test_a_plan_says_what_it_has(tmp_path: Path) -> None:
    trace = make_trace(
        tmp_path / "trace",
        [
            opened("/a", file_size=10),
            row(start=5, call="pread", path="/a", descriptor=3, offset=0, size=4, result=4),
        ],
    )
    make_plan(trace, tmp_path / "plan")
    head, _, rows = (tmp_path / "plan").read_bytes().partition(b"\n")
    said = json.loads(head)
    assert said["paths"] == ["a"]
    given = {"path": 0, "kind": "file", "size": 10, "handle": None, "flags": 2, "target": None}
    assert said["given"] == [given]
    assert said["threads"] == [2]
    assert len(rows) == 2 * 64


@pytest.mark.parametrize("lie", [{"duration": -5}, {"offset": 2**63}, {"start": 2**64}])
def test_a_trace_that_lies_about_numbers_is_refused(lie: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="numbers that no call has"):
        plan(row(call="truncate", path="/a", **lie))


@pytest.mark.parametrize(
    ("recorded", "kept"),
    [
        (os.O_RDONLY, os.O_RDONLY),
        (os.O_RDWR | os.O_SYNC | os.O_APPEND, os.O_RDWR | os.O_SYNC | os.O_APPEND),
        (os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_TRUNC, os.O_RDWR),
        (None, os.O_RDWR),
        (2**40, 0),
    ],
)
def test_what_was_open_before_is_opened_with_the_flags_it_had(recorded: int | None, kept: int) -> None:
    planner = plan(
        row(call="found", path="/a", descriptor=3, detail=recorded, file_size=10),
        row(call="pwrite", path="/a", descriptor=3, offset=0, size=4, result=4),
    )
    (known,) = planner.tree.given
    assert (known.path, known.handle, known.flags) == ("a", 0, kept)


def test_a_trace_that_was_changed_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    trace = make_trace(tmp_path / "trace", [opened("/a", file_size=10)])
    content = bytearray(trace.table.read_bytes())
    content[len(content) // 2] ^= 1
    trace.table.write_bytes(content)
    with pytest.raises(StoreError, match="is not what was recorded"):
        make_plan(trace, tmp_path / "plan")
    assert not (tmp_path / "plan").exists()


def test_a_table_of_another_version_is_refused(tmp_path: Path) -> None:
    trace = make_trace(tmp_path / "trace", [opened("/a", file_size=10)])
    other = tmp_path / "other.parquet"
    duckdb.sql(
        f"COPY (SELECT * FROM read_parquet('{trace.table}')) TO '{other}' (FORMAT parquet, "
        "KV_METADATA {steelyard_trace: '9'})"
    )
    other.replace(trace.table)
    document = trace.read_document()
    del document["sha256"]
    trace.write_document(document)
    with pytest.raises(StoreError, match="version '9'"):
        make_plan(trace, tmp_path / "plan")


def test_a_trace_that_lies_about_sizes_is_refused() -> None:
    with pytest.raises(UsageError, match="more than any system makes"):
        plan(opened("/a"), row(call="pread", path="/a", descriptor=3, offset=0, size=1 << 60, result=1))


def test_nothing_to_replay_is_said(tmp_path: Path) -> None:
    trace = make_trace(tmp_path / "trace", [row(call="sync")])
    with pytest.raises(UsageError, match="no call in this trace"):
        make_plan(TraceFolder(trace.path), tmp_path / "plan")
