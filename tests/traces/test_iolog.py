"""Traces as logs of fio, and logs of fio as traces."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replayed import make_trace, row
from steelyard.errors import UsageError
from steelyard.store.layout import Store
from steelyard.traces.folder import TraceFolder, create_trace
from steelyard.traces.iolog import read_log, write_log
from steelyard.traces.replay.rows import read_rows

LOG = """\
fio version 3 iolog
0 /d/a add
0 /d/a open
10 /d/a write 0 4096
20 /d/a read 1024 512
30 /d/a sync 0 0
40 /d/a datasync 0 0
40 /d/a close
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def read(store: Store, path: Path) -> TraceFolder:
    folder = create_trace(store, "log")
    read_log(path, folder)
    return folder


def test_a_log_becomes_a_trace_and_the_same_log_again(store: Store, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LOG)
    folder = read(store, tmp_path / "log")
    rows = [(each.call, each.path, each.start, each.offset, each.result) for each in read_rows(folder.table)]
    assert rows[1:3] == [("pwrite", "/d/a", 10_000, 0, 4096), ("pread", "/d/a", 20_000, 1024, 512)]
    exported = write_log(folder, tmp_path / "again")
    assert (exported.lines, exported.left_out) == (len(LOG.splitlines()), 2)
    moves = [line for line in LOG.splitlines() if "read" in line or "write" in line or "sync" in line]
    again = (tmp_path / "again").read_text().splitlines()
    assert [line for line in again if "read" in line or "write" in line or "sync" in line] == moves


def test_version_2_waits(store: Store, tmp_path: Path) -> None:
    lines = ["fio version 2 iolog", "a add", "a open", "a wait 500 0", "a read 0 10", "a close"]
    (tmp_path / "log").write_text("\n".join(lines))
    (found,) = [each for each in read_rows(read(store, tmp_path / "log").table) if each.kind == "read"]
    assert (found.start, found.path) == (500_000, "/a")


@pytest.mark.skipif(not shutil.which("fio"), reason="fio is not installed")
def test_fio_replays_what_was_recorded_and_its_own_log_is_read(store: Store, tmp_path: Path) -> None:
    trace = make_trace(
        tmp_path / "trace",
        [
            row(start=0, call="pwrite", path=str(tmp_path / "f"), offset=0, size=8192, result=8192),
            row(start=9000, call="pread", path=str(tmp_path / "f"), offset=4096, size=4096, result=4096),
            row(start=9500, call="stat", path=str(tmp_path / "f")),
        ],
    )
    assert write_log(trace, tmp_path / "log").left_out == 1
    job = run_fio(tmp_path, "--read_iolog=log")
    assert (job["write"]["io_bytes"], job["read"]["io_bytes"]) == (8192, 4096)
    run_fio(tmp_path, "--rw=write", "--size=64k", "--bs=16k", "--filename=f", "--write_iolog=own")
    own = [(each.call, each.offset, each.result) for each in read_rows(read(store, tmp_path / "own").table)]
    assert own[1:5] == [("pwrite", offset, 16384) for offset in (0, 16384, 32768, 49152)]


def run_fio(place: Path, *options: str) -> dict[str, Any]:
    argv = ["fio", "--name=x", "--output-format=json", *options]
    said = subprocess.run(argv, cwd=place, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(said)["jobs"][0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":1: this is no log"),
        ("fio version 4 iolog\n", ":1: this is no log"),
        ("fio version 3 iolog\n", "no action"),
        ("fio version 3 iolog\n0 a read\n0 a read 5\n", ":3: '0 a read 5' is no action"),
        ("fio version 3 iolog\nx a open\n", ":2: "),
        ("fio version 3 iolog\n0 a read -1 5\n", ":2: "),
        ("fio version 3 iolog\n0 a read 0 99999999999999999999\n", ":2: "),
        ("fio version 3 iolog\n0 a dance\n", ":2: "),
    ],
)
def test_what_is_no_log_is_refused_with_its_line(store: Store, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "log").write_text(text)
    with pytest.raises(UsageError, match=said):
        read(store, tmp_path / "log")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.lists(st.text(max_size=30), max_size=5))
def test_any_other_text_is_refused_or_read(store: Store, tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "log").write_text("fio version 3 iolog\n" + "\n".join(lines), errors="replace")
    with suppress(UsageError):
        read(store, tmp_path / "log")
