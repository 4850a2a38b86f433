"""The table of a trace: where calls went on, names, and names that are hidden."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from recorded_programs import compile_program, python, read_rows, run_recorded
from steelyard.traces.names import NameHider
from steelyard.traces.profile import profile_table

POSITIONS = """
import os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
os.write(file, b"0123456789")
os.lseek(file, 4, os.SEEK_SET)
os.read(file, 2)
other = os.dup(file)
os.read(other, 1)
os.close(file)
os.lseek(other, -3, os.SEEK_END)
os.readv(other, [bytearray(2)])
third = os.dup(other)
os.read(third, 1)
more = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
os.write(more, b"abc")
os.close(third)
again = os.open(sys.argv[1], os.O_RDONLY)
os.read(again, 4)
os.pread(again, 3, 1)
os.read(again, 4)
"""


def test_offsets_of_calls_that_go_on_where_the_file_stands(tmp_path: Path) -> None:
    data = tmp_path / "data"
    rows = run_recorded(tmp_path, *python(POSITIONS, data)).on(data, "read", "readv", "pread", "write")
    offsets = [(row["call"], row["offset"], row["result"]) for row in rows]
    assert offsets == [
        ("write", 0, 10),
        ("read", 4, 2),
        ("read", 6, 1),
        ("readv", 7, 2),
        ("read", 9, 1),
        ("write", 10, 3),
        ("read", 0, 4),
        ("pread", 1, 3),
        ("read", 4, 4),
    ]


@pytest.mark.parametrize(("later", "is_seen"), [(500_000, False), (3600 * 1_000_000_000, True)])
def test_processes_of_one_boot_share_a_clock(tmp_path: Path, later: int, is_seen: bool) -> None:
    """Each reads its wall clock at another moment than the other one, which must not move its calls."""
    code = "import os, sys; os.open(sys.argv[1], os.O_CREAT); os.fork() or os.open(sys.argv[2], os.O_CREAT)"
    recorded = run_recorded(tmp_path, *python(code, tmp_path / "parent", tmp_path / "child"), check=False)
    first, second = recorded.segments
    moved = read_rows([first, replace(second, wall=second.wall + later)], tmp_path / "moved.parquet")
    steps = [each["start"] - row["start"] for each, row in zip(moved, recorded.rows, strict=True)]
    assert max(steps) - min(steps) > later / 2 if is_seen else set(steps) == {0}


def test_names_errors_and_second_names(tmp_path: Path) -> None:
    code = """
import os, sys
os.chdir(sys.argv[1])
os.mkdir("sub")
place = os.open("sub", os.O_RDONLY)
file = os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=place)
os.rename("sub/new", "sub/old")
try: os.stat("nowhere")
except FileNotFoundError: pass
"""
    recorded = run_recorded(tmp_path, *python(code, tmp_path))
    (opened,) = recorded.on(tmp_path / "sub/new", "open")
    assert opened["detail"] & os.O_CREAT
    (renamed,) = recorded.on(tmp_path / "sub/new", "rename")
    assert renamed["other"] == str(tmp_path / "sub/old")
    (missed,) = recorded.on(tmp_path / "nowhere", "stat")
    assert (missed["result"], missed["error"]) == (None, "ENOENT")


def test_hidden_names_keep_the_tree_and_differ_from_trace_to_trace() -> None:
    one, two = NameHider(), NameHider()
    first, second = one.hide("/home/ada/secret/../data"), one.hide("/home/ada/data")
    assert first.split("/")[:3] == second.split("/")[:3]
    assert first.split("/")[-1] == second.split("/")[-1]
    assert first.split("/")[4] == ".."
    assert not {"home", "ada", "data", "secret"} & {*first.split("/"), *second.split("/")}
    assert two.hide("/home") != one.hide("/home")


PATTERNS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
static char bytes[4096];
int main(int count, char **words) {
    int file = open(words[1], O_CREAT | O_RDWR, 0600), at[] = {7, 3, 90, 11, 50, 2};
    for (int i = 0; i < 101; i++) if (pwrite(file, bytes, 4096, i * 4096) < 0) return 1;
    for (int i = 0; i < 102; i++) if (pread(file, bytes, 512, i * 2048) < 0) return 1;
    for (int i = 0; i < 6; i++) if (pread(file, bytes, 1024, at[i] * 4096) < 0) return 1;
    return fsync(file);
}
"""


def test_a_profile_says_how_much_where_and_in_which_pattern(tmp_path: Path) -> None:
    data = tmp_path / "data"
    run_recorded(tmp_path, compile_program(tmp_path, PATTERNS), data)
    profile = profile_table(tmp_path / "table.parquet")
    assert (profile.written, profile.read) == (101 * 4096, 102 * 512 + 6 * 1024)
    assert profile.label == "write-intensive"
    assert profile.ratio == pytest.approx((102 * 512 + 6 * 1024) / (101 * 4096))
    assert profile.patterns["write"] == {"sequential": 100 * 4096}
    assert profile.patterns["read"] == {"strided": 100 * 512, "random": 512 + 6 * 1024}
    assert profile.sizes["write"] == [(12, 101)]
    assert profile.sizes["read"] == [(9, 102), (10, 6)]
    assert profile.kinds["sync"].calls == 1
    assert profile.most_used[0].path == str(data)
    assert sum(each[1] for each in profile.over_time) == profile.written
    assert sum(moved for *_, moved in profile.heat) == profile.written + profile.read
    assert sum(each[3] for each in profile.over_time) == pytest.approx(profile.busy)
    assert (profile.processes, profile.threads, profile.most_at_once) == (1, 1, 1)
    assert profile_table(tmp_path / "table.parquet", str(tmp_path)).written == profile.written
    assert profile_table(tmp_path / "table.parquet", f"{tmp_path}/o'ther").calls == 0
