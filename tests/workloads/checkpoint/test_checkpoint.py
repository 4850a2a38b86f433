"""`use: checkpoint`: its program for real, restores that cheat, and what is read from its output."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from patience import PATIENCE
from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output, Place
from steelyard.workloads.checkpoint import Checkpoint, CheckpointOptions
from steelyard.workloads.checkpoint.program.cold import make_cold, measure_cached
from steelyard.workloads.checkpoint.source import join_program

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
TOOK = {"save": 0.5, "write": 0.2, "sync": 0.2, "checksum": 0.1, "restore": 0.25}
RESULT = {"took": TOOK, "size": 1000, "cache": {"how": "posix_fadvise", "cached": 0.0}, "python": "3.11.7"}
COUNT = 'return {"counter": self.state.counter}'
READ = 'self.state = read_state(order["path"])'


def made(**options: Any) -> Checkpoint:
    return Checkpoint(CheckpointOptions.model_validate(options))


def run_program(place: Path, *changes: tuple[str, str], **options: Any) -> subprocess.CompletedProcess[str]:
    """What the program says when it works in a directory; changes make it cheat."""
    where = PurePosixPath(place)
    command = made(**options).command(Place(where, where, 2, 2**30, seed=7))
    text = command.stdin or ""
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return subprocess.run(
        (sys.executable, *command.argv[1:]),
        input=text,
        cwd=place,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("content", ["random", "zero", "half"])
@pytest.mark.parametrize("memory", ["1MB", "3MiB"])
def test_it_saves_kills_restores_and_goes_on(tmp_path: Path, content: str, memory: str) -> None:
    ended = run_program(tmp_path, memory=memory, content=content, steps=300)
    assert ended.returncode == 0, ended.stderr
    reading = made().parse("run", Output(EXIT, ended.stdout, ended.stderr))
    assert reading.values["state_size"] == {"1MB": 1_000_052, "3MiB": 3 * 2**20 + 52}[memory]
    parts = ("write_time", "sync_time", "checksum_time")
    assert sum(reading.values[part] for part in parts) <= reading.values["save_time"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("restored", "said"),
    [
        (f"{READ}; self.state.memory[1500000] ^= 1", "saved: 1 of 3 MiB differ, the first at byte 1048576"),
        (f"{READ}; self.state.memory[-1:] = b''", "saved: 1 of 3 MiB differ, the first at byte 2097152"),
        (f"{READ}; del self.state.memory[1 << 20 :]", "has 1 MiB, and 3 MiB were saved"),
        (f"{READ}; self.state.counter += 1", "leaves steps out after the restore: it is 12, and 11 was due"),
        (f"{READ}; self.state.counter -= 1", "repeats steps after the restore: it is 10, and 11 was due"),
        ("self.state = State(10, memory=bytearray(3 << 20))", "is not what was saved: 3 of 3 MiB differ"),
        (
            "import mmap; file = open(order['path'], 'rb'); "
            "self.state = State(10, memory=mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))",
            "the unit ended with -7 when it was asked to prove",
        ),
    ],
    ids=["one-bit", "shorter", "a-part", "gap", "repeat", "zeros", "not-in-memory"],
)  # fmt: skip
def test_a_restore_that_cheats_fails_the_trial(tmp_path: Path, restored: str, said: str) -> None:
    ended = run_program(tmp_path, (READ, restored), memory="3MiB", steps=10)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_state_of_an_earlier_moment_fails_the_trial(tmp_path: Path) -> None:
    """Its counter is made to fit, so that the memory alone tells."""
    early = "self.state.counter == 5 and setattr(self, 'early', bytearray(self.state.memory))"
    saving = 'write_state(order["path"], self.state)'
    cheating = 'write_state(order["path"], State(self.state.counter, memory=self.early))'
    changes = ((COUNT, f"{early}; {COUNT}"), (saving, cheating))
    ended = run_program(tmp_path, *changes, memory="1MB", steps=10)
    assert "is not what was saved: 1 of 1 MiB differ, the first at byte 0" in ended.stderr


HARM = "        cache = make_cold(way.path)"


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("os.truncate(way.path, 500000)", "is refused: it is torn, 500000 of its 1000052 bytes are there"),
        ("os.truncate(way.path, 0)", "is refused: it does not begin as a state file (0 bytes)"),
        ("open(way.path, 'r+b').write(b'steelyard-state1?')", "is refused: it was altered, its checksum is"),
        ("os.unlink(way.path)", "cannot checkpoint"),
    ],
)
def test_a_harmed_state_file_fails_the_trial(tmp_path: Path, harm: str, said: str) -> None:
    ended = run_program(tmp_path, (HARM, f"        {harm}\n{HARM}"), memory="1MB", steps=10)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert str(tmp_path / "state") in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_unit_that_dies_fails_the_trial(tmp_path: Path) -> None:
    ended = run_program(tmp_path, (COUNT, "os._exit(3)"), memory="1MB")
    assert ended.stderr == "the unit ended with 3 when it was asked to step\n"


def test_a_directory_that_is_gone_is_said(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    ended = run_program(here, ("way.begin()", f"way.begin(); os.rmdir({str(here)!r})"), memory="1MB")
    assert f"cannot save {here}/state.new: No such file or directory" in ended.stderr


def test_a_file_is_dropped_from_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(10_000_000))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as area:
        os.fsync(file.fileno())
        assert area[0] == 0  # a page that is mapped stays, also when another test drops the machine's cache
        assert measure_cached(file.fileno()) > 0
    left = float(str(make_cold(str(path))["cached"]))
    is_in_memory = subprocess.run(
        ["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=True
    )
    assert (left == 1) == (is_in_memory.stdout.strip() == "tmpfs")


def test_a_restore_from_the_cache_is_marked() -> None:
    cached = {**RESULT, "cache": {"how": "posix_fadvise", "cached": 0.5}}
    reading = made().parse("run", Output(EXIT, json.dumps(cached), ""))
    (mark,) = reading.marks
    assert mark.reason == "50% of the state file was cached before the restore, after posix_fadvise"
    assert reading.facts["cache"] == cached["cache"]


def test_rates_follow_from_size_and_times() -> None:
    reading = made().parse("run", Output(EXIT, json.dumps(RESULT), ""))
    assert reading.values == {
        "save_time": 0.5,
        "write_time": 0.2,
        "sync_time": 0.2,
        "checksum_time": 0.1,
        "restore_time": 0.25,
        "state_size": 1000,
        "save_rate": 2000,
        "restore_rate": 4000,
    }
    assert reading.marks == ()


@pytest.mark.parametrize(
    "change", [{"size": 0}, {"took": {**TOOK, "save": 0}}, {"took": {}}, {"cache": 3}, {"python": 3}]
)
def test_output_that_makes_no_sense_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ParseFailure):
        made().parse("run", Output(EXIT, json.dumps({**RESULT, **change}), ""))


@given(st.text(max_size=300))
def test_any_output_is_read_or_refused(text: str) -> None:
    try:
        made().parse("run", Output(EXIT, text, ""))
    except ParseFailure:
        return


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"memory": "1kB"}, "1000B is not from 1 MB to 64 GB"),
        ({"memory": "1TB"}, "KiB is not from 1 MB to 64 GB"),
        ({"directory": "../x"}, "is not 'scratch', an absolute path"),
        ({"steps": 0}, "greater than or equal to 1"),
        ({"way": "magic"}, "application"),
        ({"way": "criu"}, "'criu' is not supported, as it refuses many kernels .* use 'application'"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        made(**options)


def test_the_disk_and_the_time_follow_the_memory() -> None:
    assert made(memory="1GB").disk() == 1_000_000_000 + 2**20
    assert made(memory="1GB").seconds() == 10.5


def test_a_unit_ends_with_its_verifier() -> None:
    """Also in the middle of the content that it was promised."""
    words = (sys.executable, "-I", "-S", "-c", join_program(), json.dumps({"role": "unit"}))
    order = b'{"do": "fill", "size": 1000000}\nshort'
    done = subprocess.run(words, input=order, capture_output=True, check=True, timeout=PATIENCE)
    assert b"the input ended before the content of the memory had come" in done.stdout
