"""What tests of `steelyard cluster` share: commands on a store of their own, seen from outside."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import until

CELLS = f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).with_name('cells.py')))}"
SMALL = ("--set", "heap=128MiB", "--set", "jvm=[-XX:TieredStopAtLevel=1]", "--set", "keyspaces=[cells]")
STALLING = """#!/bin/sh
[ -e "{flag}" ] && {{ touch "{seen}"; sleep 100; }}
exec {real} "$@"
"""
Ended = subprocess.CompletedProcess[str]


@contextmanager
def bench(**env: str) -> Iterator[Bench]:
    """A bench in a place that unprivileged servers can enter; pytest's own directories are for us alone."""
    place = Path(tempfile.mkdtemp(prefix="steelyard-test-", dir="/tmp"))
    place.chmod(0o711)
    found = Bench(place, **env)
    try:
        yield found
    finally:
        found.end()
        shutil.rmtree(place, ignore_errors=True)  # a controller may just be at it, too


class Bench:
    """Commands in a directory, on a store there."""

    def __init__(self, place: Path, **env: str) -> None:
        self.place, self.store = place, place / "store"
        self.env = {**os.environ, "STEELYARD_STORE": str(self.store), "TMPDIR": str(place), **env}
        self.env["STEELYARD_RUNTIME_DIR"] = str(place)
        self._started: list[subprocess.Popen[str]] = []

    def cluster(self, *words: str) -> Ended:
        """Run an action to its end."""
        argv = [sys.executable, "-m", "steelyard", "cluster", *words]
        return subprocess.run(argv, cwd=self.place, env=self.env, capture_output=True, text=True, check=False)

    def starts(self, *words: str) -> subprocess.Popen[str]:
        """Run an action beside the test, which `end` ends."""
        argv = [sys.executable, "-m", "steelyard", "cluster", *words]
        pipe = subprocess.PIPE
        self._started.append(
            subprocess.Popen(argv, cwd=self.place, env=self.env, stdout=pipe, stderr=pipe, text=True)
        )
        return self._started[-1]

    def status(self, *words: str) -> Any:
        done = self.cluster("status", "--json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def comes_to(self, doing: str, *name: str) -> dict[str, Any]:
        """Wait until the only cluster, or that of a name, does this."""
        found: Any = {}

        def there() -> bool:
            nonlocal found
            found = self.status(*name)
            return isinstance(found, dict) and found["doing"] == doing

        assert until(there), (found, [run.name for run in self.runs()], self.log())
        return dict(found)

    def runs(self) -> list[Path]:
        return sorted((self.store / "runs").iterdir()) if (self.store / "runs").is_dir() else []

    def journal(self, kind: str, run: Path | None = None) -> list[dict[str, Any]]:
        text = ((run or self.runs()[-1]) / "journal.ndjson").read_text()
        return [line for line in map(json.loads, text.splitlines()) if line["kind"] == kind]

    def ending(self, run: Path | None = None) -> dict[str, Any]:
        return self.journal("run-ended", run)[-1]

    def log(self) -> str:
        logs = [run / "job.log" for run in self.runs()]
        return "\n".join(log.read_text() for log in logs if log.exists())

    def bearers(self) -> list[int]:
        """Processes with the token of one of its runs."""
        ids = [run.name.encode() for run in self.runs()]
        return [
            pid for pid, environ in environments() if any(b"STEELYARD_TOKEN=" + i in environ for i in ids)
        ]

    def left(self) -> list[str]:
        """What is there of scratch."""
        scratch = self.store / "scratch"
        return [path.name for path in scratch.iterdir()] if scratch.is_dir() else []

    def stalls(self) -> tuple[Path, Path]:
        """From now on snapshots are never done while the first file is there; the second tells of one."""
        flag, seen, program = self.place / "slow", self.place / "seen", self.place / "bin" / "sha256sum"
        program.parent.mkdir()
        program.write_text(STALLING.format(flag=flag, seen=seen, real=shutil.which("sha256sum")))
        program.chmod(0o755)
        self.env["PATH"] = f"{program.parent}:{self.env['PATH']}"
        return flag, seen

    def end(self) -> None:
        """Whatever still runs, of this bench only."""
        for process in self._started:
            process.kill()
            process.communicate()
        for run in self.runs():
            control = run / "control.json"
            if control.exists() and control.stat().st_size:
                _end_controller(run.name, int(json.loads(control.read_text())["pid"]))
        assert until(lambda: not self.bearers()), self.bearers()


def _end_controller(run: str, pid: int) -> None:
    """One in the background is no child of ours: its file names it, and it has its run's files open."""
    try:
        files = [path.readlink() for path in Path(f"/proc/{pid}/fd").iterdir()]
        if any(run in str(file) for file in files):
            os.kill(pid, signal.SIGTERM)
    except OSError:
        return


def environments() -> list[tuple[int, bytes]]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.append((int(entry.name), (entry / "environ").read_bytes()))
            except OSError:
                continue
    return found
