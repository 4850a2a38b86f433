"""Whole runs through the command line, seen only through the store and /proc: no code of Steelyard's own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from patience import until

# The command, but for its HTML report, which takes a second and comes when all is over.
WITHOUT_REPORT = """
import steelyard.cli.finish
steelyard.cli.finish._write_report = lambda record: None
from steelyard.__main__ import main
main()
"""
Line = dict[str, Any]
EXPERIMENT = r"""
experiment: kill
parameters: {n: [3, 5]}
workload:
  use: command
  script: |
    setsid sleep 300 &
    head -c 4096 /dev/zero > data
    echo "value: $((n * 7))"
    sleep 0.02
    kill $! && wait $! || true
  metrics: {value: {regex: 'value: (\d+)'}}
repeat: 3
disturbed: include
seed: 5
"""
WHOLE = sorted((json.dumps({"n": n}), k, "ok", 7.0 * n) for n in (3, 5) for k in (1, 2, 3))


@dataclass(frozen=True)
class Outcome:
    """How a command ended: exit code (minus the signal), what it said, how often it used which call."""

    code: int
    said: str
    counts: dict[str, int] = field(default_factory=dict)


class Started:
    """A command that is running; what it says goes to a file, so that it never has to wait for a reader."""

    def __init__(self, argv: tuple[str, ...], place: Path, out: Path, env: dict[str, str]) -> None:
        self._out = out
        with out.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", WITHOUT_REPORT, *argv],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=place,
                env=env,
            )

    def said(self) -> str:
        return self._out.read_text(errors="replace")

    def ended(self) -> Outcome:
        """Wait for its end."""
        return Outcome(self.process.wait(), self.said())


class Lab:
    """A store of its own, and commands on it."""

    def __init__(self, place: Path) -> None:
        self.place, self.store = place, place / "store"
        self._started: list[Started] = []

    def nest(self, name: str) -> Lab:
        """A lab inside this one, which ends what both started."""
        nested = Lab(self.place / name)
        nested.place.mkdir()
        nested._started = self._started
        return nested

    def file(self, text: str) -> str:
        """An experiment file of this text."""
        path = self.place / f"experiment-{len(list(self.place.glob('*.yaml')))}.yaml"
        path.write_text(text)
        return str(path)

    def start(self, *argv: str, **env: str) -> Started:
        """Start a command; it is ended with the test at the latest."""
        argv = counting(argv)
        out = self.place / f"said-{len(self._started)}"
        env = {**os.environ, "STEELYARD_STORE": str(self.store), **env}
        self._started.append(Started(argv, self.place, out, env))
        return self._started[-1]

    def steelyard(self, *argv: str, **env: str) -> Outcome:
        """Run a command to its end."""
        return self.start(*argv, **env).ended()

    def runs(self) -> list[Path]:
        """The run folders, oldest first."""
        return sorted((self.store / "runs").iterdir()) if (self.store / "runs").is_dir() else []

    def journal(self, run: Path | None = None) -> list[Line]:
        """The lines of a journal; only behind the last line end may there be something torn."""
        path = (run or self.runs()[-1]) / "journal.ndjson"
        return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]] if path.exists() else []

    def results(self, run: Path | None = None) -> list[tuple[Any, ...]]:
        """Cell, repetition, status and the printed figure of every finished trial, sorted."""
        ended = [line for line in self.journal(run) if line["kind"] == "trial-ended"]
        return sorted(
            (json.dumps(line["parameters"]), line["repetition"], line["status"], line["metrics"].get("value"))
            for line in ended
            if not line.get("retried")
        )

    def bearers(self, run: str) -> list[int]:
        """The processes that bear the token of a run, its minder among them."""
        token, argument = f"\0STEELYARD_TOKEN={run}:".encode(), f"\0{run}:".encode()
        listed = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [
            int(entry.name)
            for entry in listed
            if token in b"\0" + content(entry / "environ") or argument in content(entry / "cmdline")
        ]

    def proc(self, pid: int, name: str) -> bytes:
        """What /proc says of a process; nothing when it is gone."""
        return content(Path(f"/proc/{pid}/{name}"))

    def end(self) -> None:
        """End what was started here."""
        for started in self._started:
            started.process.kill()
            started.process.wait()


def content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def counting(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The same, but disturbed trials of a bare command count: this machine is busy with running tests."""
    bare = argv[:1] == ("run",) and "--" in argv and not {"--disturbed", "--site"} & set(argv)
    return ("run", "--disturbed", "include", *argv[1:]) if bare else argv


class ForkServer:
    """Runs commands in forked copies that can be struck down; see faulty.py."""

    def __init__(self) -> None:
        program = str(Path(__file__).with_name("faulty.py"))
        # No threads may be around when the server forks.
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        pipe = subprocess.PIPE
        self._server = subprocess.Popen(
            [sys.executable, program], stdin=pipe, stdout=pipe, text=True, env=env
        )

    def run(self, lab: Lab, *argv: str, fault: dict[str, Any] | None = None) -> Outcome:
        """Run a command line; `fault` as in faulty.py."""
        argv, out = counting(argv), lab.place / "out"
        env = {"STEELYARD_STORE": str(lab.store), "TMPDIR": str(lab.place)}
        env |= {"STEELYARD_RUNTIME_DIR": str(lab.place), "XDG_STATE_HOME": str(lab.place / "state")}
        self._say({"argv": argv, "cwd": str(lab.place), "env": env, "out": str(out), "fault": fault})
        answer = self._hear()
        assert answer["status"] is not None, f"hung: {argv} with {fault}: {out.read_text()}"
        return Outcome(answer["status"], out.read_text(errors="replace"), answer["counts"])

    def begin(self, lab: Lab, fault: dict[str, Any] | None = None) -> Survivor:
        """Run the experiment, which a fault may strike.

        How often some calls are used depends on what else runs on the machine, because a run looks at that,
        too: a fault that did not come is aimed at half as many uses in a run of its own.
        """
        survivor = Survivor(lab, self)
        survivor.strike("run", lab.file(EXPERIMENT), fault=fault)
        if not fault or survivor.was_struck():
            return survivor
        return self.begin(lab, survivor.aims_lower(fault))

    def close(self) -> None:
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()

    def _say(self, request: dict[str, Any]) -> None:
        assert self._server.stdin
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()

    def _hear(self) -> dict[str, Any]:
        assert self._server.stdout
        answer: dict[str, Any] = json.loads(self._server.stdout.readline())
        return answer


def sooner(fault: dict[str, Any]) -> dict[str, Any]:
    """The fault, of two the second, at half as many uses; a call that was not used gives way to a write.

    Some calls are used only now and then, as the machine has it; the journal is written to by every run.
    """
    if "then" in fault:
        return {**fault, "then": sooner(fault["then"])}
    if fault["nth"] > 1:
        return {**fault, "nth": fault["nth"] // 2}
    assert fault["kind"] != "journal", f"{fault} did not happen"
    return {**fault, "kind": "journal"}


class Survivor:
    """What is left of a run that was struck, and what is asked of it; `outcome` is how it ended."""

    def __init__(self, lab: Lab, server: ForkServer) -> None:
        self.lab, self.server = lab, server
        self.outcome = Outcome(0, "")

    def strike(self, *argv: str, fault: dict[str, Any] | None) -> None:
        """Run a command that the fault strikes if it gets that far."""
        shutil.rmtree(self.lab.place / "out.fired", ignore_errors=True)
        self.outcome = self.server.run(self.lab, *argv, fault=fault)

    def was_struck(self) -> bool:
        return (self.lab.place / "out.fired").is_dir()

    def aims_lower(self, fault: dict[str, Any]) -> dict[str, Any]:
        """What to strike a new run with, when this one ended by itself before the fault came."""
        if "then" not in fault:
            self.is_whole()
        shutil.rmtree(self.lab.store)
        return sooner(fault)

    def nothing_left(self) -> None:
        """No process of it lives on; its scratch is gone then, or after `clean`."""
        for run in self.lab.runs():
            assert until(lambda run=run: not self.lab.bearers(run.name)), self.lab.bearers(run.name)
        if not until(self.swept, 0.2):
            cleaned = self.server.run(self.lab, "clean")
            assert cleaned.code == 0, cleaned.said
            assert self.swept(), cleaned.said

    def swept(self) -> bool:
        return not any((self.lab.store / "scratch").glob("*"))

    def is_made_whole(self) -> None:
        """`list` shows it, `resume` ends with the result of an uninterrupted run."""
        listed = self.server.run(self.lab, "list")
        assert listed.code == 0, listed.said
        if not self.lab.runs():
            return
        began = bool(self.lab.journal())
        resumed = self.server.run(self.lab, "resume", "last")
        if began:
            assert resumed.code == 0, resumed.said
            self.is_whole()
        else:
            assert resumed.code == 2, resumed.said
            assert "ended before it began" in resumed.said

    def is_whole(self) -> None:
        """Everything was measured once, the journal has no gap, nothing is left."""
        assert self.lab.results() == WHOLE
        journal = self.lab.journal()
        assert [line["seq"] for line in journal] == list(range(1, len(journal) + 1))
        ended = journal[-1]
        assert (ended["kind"], ended["state"], ended["done"]) == ("run-ended", "complete", len(WHOLE))
        started = Counter(line["trial"] for line in journal if line["kind"] == "trial-started")
        assert set(started.values()) == {1}, "a number was given twice"
        assert self.swept()


@pytest.fixture
def lab(own_place: Path) -> Iterator[Lab]:
    """A lab whose processes are ended with the test."""
    made = Lab(own_place)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], AbstractContextManager[Lab]]:
    """Labs for fixtures that outlive a test."""

    @contextmanager
    def made() -> Iterator[Lab]:
        with tempfile.TemporaryDirectory(dir=tmp_path_factory.getbasetemp()) as place:
            yield Lab(Path(place))

    return made


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    server = ForkServer()
    yield server
    server.close()


@pytest.fixture
def strike(lab: Lab, fork_server: ForkServer) -> Callable[..., Survivor]:
    """Run the experiment and strike it."""
    return lambda fault=None: fork_server.begin(lab, fault)


@pytest.fixture
def mount(own_place: Path) -> Callable[[str], AbstractContextManager[Path]]:
    """Mount a tmpfs of its own with the options given, for as long as a block lasts."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a tmpfs")

    @contextmanager
    def mounted(options: str) -> Iterator[Path]:
        place = Path(tempfile.mkdtemp(dir=own_place))
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(place)]
        made = subprocess.run(command, check=False, capture_output=True, text=True)
        if made.returncode:
            pytest.skip(f"cannot mount a tmpfs here: {made.stderr.strip()}")
        try:
            yield place
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)
            place.rmdir()

    return mounted


@pytest.fixture(name="until")
def _until() -> Callable[[Callable[[], Any], float], bool]:
    return until
