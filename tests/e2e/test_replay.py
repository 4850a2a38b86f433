"""`use: replay`: real programs, recorded, and their calls made again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from recorded_programs import python, require_library, require_passthrough
from replayed import make_trace, row
from steelyard.traces.replay.rows import Row

if TYPE_CHECKING:
    from conftest import Lab

PROGRAM = """
import os, sys, threading
place = sys.argv[1]
os.makedirs(f"{place}/d")
first = os.open(f"{place}/before", os.O_RDWR)
assert len(os.read(first, 4096)) == 4096
def work(number):
    path = f"{place}/d/{number}"
    for turn in range(40):
        file = os.open(path, os.O_RDWR | os.O_CREAT)
        os.pwrite(file, bytes(8192), turn * 8192)
        os.fsync(file)
        assert len(os.pread(file, 4096, turn * 8192)) == 4096
        os.close(file)
    os.rename(path, path + ".done")
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
for each in threads: each.start()
for each in threads: each.join()
assert sorted(os.listdir(f"{place}/d")) == ["0.done", "1.done", "2.done"]
for name in os.listdir(f"{place}/d"): os.unlink(f"{place}/d/{name}")
"""
REPLAY = """\
experiment: again
workload: {{use: replay, trace: {trace}, {options}}}
repeat: 1
disturbed: include
"""


def replay_rows(lab: Lab, place: Path, *rows: Row) -> dict[str, Any]:
    """The summary of the replay of a trace that has these."""
    trace = make_trace(place, rows)
    ended = lab.steelyard("run", "-q", lab.file(REPLAY.format(trace=trace.path, options="speed: asap")))
    assert ended.code == 0, ended.said
    (output,) = lab.runs()[0].glob("trials/1/*/run/stdout")
    return dict(json.loads(output.read_text()))


@pytest.mark.parametrize("command", ["plan", "run"])
def test_what_cannot_be_replayed_is_told_before_anything_begins(
    lab: Lab, tmp_path: Path, command: str
) -> None:
    trace = make_trace(tmp_path / "trace", [row(call="stat", path="/a")])
    levels = f"parameters: {{name: [{trace.path}, missing]}}\n"
    file = lab.file(levels + REPLAY.format(trace='"${name}"', options="speed: asap"))
    ended = lab.steelyard(command, file)
    assert ended.code == 2
    assert "unknown trace 'missing'" in ended.said
    trace.table.write_bytes(b"another")
    ended = lab.steelyard(command, file)
    assert "is not what was recorded" in ended.said
    assert not lab.runs()


def test_what_was_open_before_is_opened_as_it_was(lab: Lab, tmp_path: Path) -> None:
    """Only for reading: a write fails here, too."""
    require_library()
    found = row(call="found", path="/a", descriptor=3, detail=os.O_RDONLY, file_size=10)
    refused = row(start=5, call="pwrite", path="/a", descriptor=3, offset=0, size=4, result=-1, error="EBADF")
    said = replay_rows(lab, tmp_path / "trace", found, refused)
    assert (said["operations"], said["other_results"]) == (1, {})


LINKS = """
import os, sys
place = sys.argv[1]
def read(path):
    file = os.open(f"{place}/{path}", os.O_RDONLY)
    said = len(os.read(file, 4096))
    os.close(file)
    return said
assert os.stat(f"{place}/now/x").st_size == read("now/x") == read("base") == 1000
file = os.open(f"{place}/now/new", os.O_WRONLY | os.O_CREAT)
os.write(file, bytes(500))
os.close(file)
assert read("v7/new") == 500
assert os.readlink(f"{place}/now") == "v7"
os.symlink("v8", f"{place}/next")
os.rename(f"{place}/next", f"{place}/now")
assert read("now/x") == 3000
os.unlink(f"{place}/base")
os.close(os.open(f"{place}/base", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
"""


@pytest.mark.parametrize("way", ["library", "fuse"])
def test_links_lead_where_they_led(lab: Lab, tmp_path: Path, way: str) -> None:
    require_library() if way == "library" else require_passthrough()
    place = tmp_path / "place"
    for name, size in (("v7", 1000), ("v8", 3000)):
        (place / name).mkdir(parents=True)
        (place / name / "x").write_bytes(bytes(size))
    (place / "now").symlink_to("v7")
    (place / "base").symlink_to(place / "v7" / "x")
    options = ("--by", "fuse", "--over", place) if way == "fuse" else ()
    ended = lab.steelyard("trace", "record", *options, "--", *python(LINKS, place))
    assert ended.code == 0, ended.said
    asked = REPLAY.format(trace="last", options=f"speed: asap, streams: 2, under: {place}")
    assert lab.steelyard("run", "-q", lab.file(asked)).code == 0
    (output,) = lab.runs()[0].glob("trials/1/*/run/stdout")
    said = json.loads(output.read_text())
    assert (said["other_results"], said["reads"]["calls"]) == ({}, 8)


@pytest.fixture
def recorded(lab: Lab, tmp_path: Path) -> Path:
    """A directory in which a program worked while it was recorded, into the lab's store."""
    require_library()
    place = tmp_path / "place"
    place.mkdir()
    (place / "before").write_bytes(bytes(10_000))
    ended = lab.steelyard("trace", "record", "--", *python(PROGRAM, place))
    assert ended.code == 0, ended.said
    return place


def trials(lab: Lab) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lab.steelyard("show", "last", "--json").said.splitlines() if line]


@pytest.mark.parametrize(
    ("site", "options"),
    [
        ("local", "speed: as-recorded"),
        ("local", "speed: 2x, loop: open"),
        ("local", "speed: asap, streams: 3, stagger: 20ms"),
        ("local:2", "speed: asap"),
    ],
)
def test_the_same_calls_are_made_with_the_same_results(
    lab: Lab, recorded: Path, site: str, options: str
) -> None:
    text = REPLAY.format(trace="last", options=f"{options}, under: {recorded}")
    ended = lab.steelyard("run", "-q", "--site", site, lab.file(text))
    assert ended.code == 0, ended.said
    (run,) = lab.runs()
    outputs = sorted(run.glob("trials/1/*/run/stdout"))
    assert len(outputs) == (2 if site == "local:2" else 1)
    for output in outputs:
        said = json.loads(output.read_text())
        assert said["other_results"] == {}
        assert said["violations"] == 0
        assert said["reads"]["calls"] == 121 * said["streams"]
        assert said["writes"]["bytes"] == 120 * 8192 * said["streams"]
    shown = lab.steelyard("show", "last", "--metric", "other_results")
    assert shown.code == 0, shown.said


def test_a_replay_keeps_to_its_directory(lab: Lab, recorded: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in recorded.rglob("*")}
    ended = lab.steelyard("run", "-q", lab.file(REPLAY.format(trace="last", options="speed: asap")))
    assert ended.code == 0, ended.said
    assert {path: path.stat().st_mtime_ns for path in recorded.rglob("*")} == before


def test_a_trace_that_is_not_there_is_said(lab: Lab) -> None:
    ended = lab.steelyard("run", "-q", lab.file(REPLAY.format(trace="nowhere", options="speed: asap")))
    assert ended.code != 0
    assert "trace" in ended.said
    assert "nowhere" in ended.said


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system needs root")
def test_too_little_room_is_said_before_anything_is_written(lab: Lab, tmp_path: Path) -> None:
    require_library()
    (tmp_path / "large").write_bytes(bytes(4 << 20))
    code = "import os, sys; os.read(os.open(sys.argv[1], os.O_RDONLY), 10)"
    assert lab.steelyard("trace", "record", "--", *python(code, tmp_path / "large")).code == 0
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], check=True)
    try:
        options = f"speed: asap, directory: {small}"
        ended = lab.steelyard("run", "-q", lab.file(REPLAY.format(trace="last", options=options)))
        assert "the files of this trace need" in ended.said
        assert not list(small.iterdir())
    finally:
        subprocess.run(["umount", "-l", small], check=True)
        shutil.rmtree(small)
