"""`steelyard trace`, as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from patience import until
from recorded_programs import compile_program, python, require_library, require_passthrough
from steelyard.cli.app import run as cli

WRITE = (
    "import os, sys; f = os.open(sys.argv[1], 65); [os.write(f, b'x' * 4096) for _ in range(50)]; sys.exit(7)"
)


def test_a_program_is_recorded_and_shown(own_place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    require_library()
    assert cli(("trace", "record", "--", *python(WRITE, "data"))) == 7
    capfd.readouterr()
    assert cli(("trace", "show")) == 0
    said = capfd.readouterr().out
    assert "and 200 KiB in 50 writes, mostly of 4.00 KiB or up to twice that, 100% sequential" in said
    assert str(own_place / "data") in said
    assert "the recorder adds about" in said
    assert cli(("trace", "show", "last", "--json")) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["trace"]["exit"] == 7
    assert document["trace"]["command"][-1] == "data"
    assert document["profile"]["kinds"]["write"]["bytes"] == 50 * 4096
    assert cli(("trace", "show", "--under", str(own_place))) == 0
    assert "Write-intensive: 200 KiB in 50 writes" in capfd.readouterr().out
    assert cli(("trace", "list")) == 0
    assert Path(sys.executable).name in capfd.readouterr().out
    (trace,) = (own_place / "store/traces").iterdir()
    assert {path.name for path in trace.iterdir()} == {"trace.json", "trace.parquet"}
    assert trace.parent.stat().st_mode & 0o777 == 0o700


def test_names_are_hidden_on_request(own_place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    require_library()
    assert cli(("trace", "record", "--anonymous", "--", *python(WRITE, "data-of-ophelia"))) == 7
    (trace,) = (own_place / "store/traces").iterdir()
    assert b"ophelia" not in (trace / "trace.parquet").read_bytes()
    document = json.loads((trace / "trace.json").read_text())
    assert document["anonymous"]
    assert "ophelia" not in json.dumps(document["processes"])


def test_mistakes_are_told(own_place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    require_library()
    assert cli(("trace", "record")) == 2
    assert "nothing to record" in capfd.readouterr().err
    assert cli(("trace", "record", "--", "./nowhere")) == 2
    assert "cannot start ./nowhere: No such file or directory" in capfd.readouterr().err
    assert cli(("trace", "show")) == 2
    assert "`steelyard trace record -- COMMAND` makes one" in capfd.readouterr().err
    program = compile_program(own_place, "int main(void) { return 0; }\n", "-static")
    assert cli(("trace", "record", "--", str(program))) == 2
    assert "no process of" in capfd.readouterr().err


@pytest.mark.parametrize("is_ours", [True, False], ids=["here", "on another host"])
def test_a_trace_of_a_recorder_that_was_killed_is_there(
    own_place: Path, capfd: pytest.CaptureFixture[str], is_ours: bool
) -> None:
    """The program is not disturbed, and what it does afterwards is recorded, too.

    What recording costs is measured when the trace is shown, unless that is another machine.
    """
    require_library()
    waiting = f"import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n{WRITE}"
    command = (sys.executable, "-m", "steelyard", "trace", "record", "--", *python(waiting, "data"))
    with subprocess.Popen(command) as recorder:
        store = own_place / "store/traces"
        assert until(lambda: bool(list(store.glob("*/segments/*.segment"))))
        os.kill(recorder.pid, signal.SIGKILL)
    assert cli(("trace", "show")) == 3
    assert "still being recorded" in capfd.readouterr().err
    (own_place / "go").touch()
    assert until(lambda: (own_place / "data").exists() and (own_place / "data").stat().st_size == 50 * 4096)
    if not is_ours:
        (document,) = store.glob("*/trace.json")
        document.write_text(json.dumps(json.loads(document.read_text()) | {"host": "theirs"}))
    assert until(lambda: cli(("trace", "show")) == 0)
    said = capfd.readouterr().out
    assert "200 KiB in 50 writes" in said
    assert ("the recorder adds about" in said) == is_ours


def test_a_damaged_trace_hides_no_other(own_place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    require_library()
    for _ in range(2):
        assert cli(("trace", "record", "--", "true")) == 0
    first, second = sorted((own_place / "store/traces").iterdir())
    (first / "trace.json").write_text("[]")
    assert cli(("trace", "list")) == 0
    said = capfd.readouterr()
    assert second.name in said.out
    assert "is not a trace's document of schema 1" in said.err
    (second / "trace.parquet").write_bytes(b"PAR1")
    assert cli(("trace", "show", second.name)) == 3
    assert f"cannot read {second / 'trace.parquet'}" in capfd.readouterr().err


def test_a_static_program_is_recorded_through_fuse(
    own_place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    require_passthrough()
    body = 'FILE *file = fopen("data", "w"); return !file || fputs("x", file) < 0;'
    source = f"#include <stdio.h>\nint main(void) {{ {body} }}\n"
    program = compile_program(own_place, source, "-static")
    assert cli(("trace", "record", "--by", "fuse", "--", str(program))) == 0
    capfd.readouterr()
    assert cli(("trace", "show", "--under", str(own_place))) == 0
    said = capfd.readouterr().out
    assert "1.00 B in 1 write" in said
    assert "the recorder adds about" in said
    assert "not seen: memory that is mapped and shared" in said
    assert (own_place / "data").read_text() == "x"
    assert cli(("trace", "record", "--by", "fuse", "--over", "nowhere", "--", "true")) == 2
    said = capfd.readouterr().err
    assert "nowhere: No such file or directory" in said
    assert "no process of true was recorded" in said


def test_other_traces_are_made_of_one(own_place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    require_library()
    assert cli(("trace", "record", "--", *python(WRITE, "data"))) == 7
    for words in (
        ("cut", "--under", str(own_place)),
        ("scale", "--sizes", "2", "--streams", "3"),
        ("merge", "--together", "last", "last"),
        ("cut", "--from", "0s", "--to", "1h"),
    ):
        capfd.readouterr()
        assert cli(("trace", *words)) == 0, words
        assert "calls" in capfd.readouterr().err
    assert cli(("trace", "show")) == 0
    assert "2.34 MiB in 300 writes" in capfd.readouterr().out
    log = own_place / "data.iolog"
    assert cli(("trace", "convert", "last", "--to", str(log))) == 0
    assert log.read_text().startswith("fio version 3 iolog\n")
    assert cli(("trace", "convert", str(log))) == 0
    capfd.readouterr()
    assert cli(("trace", "convert", "last", "--to", str(log))) == 2
    assert "is there already" in capfd.readouterr().err
    assert cli(("trace", "cut", "--from", "soon")) == 2
    assert "'soon' is no time, such as 10s" in capfd.readouterr().err
    before = sorted((own_place / "store/traces").iterdir())
    assert cli(("trace", "convert", str(own_place / "data"))) == 2
    assert ":1: this is no log of fio" in capfd.readouterr().err
    assert sorted((own_place / "store/traces").iterdir()) == before


def test_no_log_of_darshan_is_told(own_place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli(("trace", "import", "nowhere.darshan")) == 2
    assert "there is no file nowhere.darshan" in capfd.readouterr().err
    assert not list((own_place / "store/traces").iterdir())
