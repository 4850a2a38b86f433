"""A test bench for each batch scheduler: a real one, or a stand-in that really runs jobs."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from patience import PATIENCE, comes, until
from steelyard.hosts.call import Answer, call
from steelyard.sites.gridengine import Gridengine
from steelyard.sites.kit.batch.job import Job, JobRequest
from steelyard.sites.kit.batch.site import BatchSite
from steelyard.sites.lsf import Lsf
from steelyard.sites.pbs import Pbs
from steelyard.sites.slurm import Slurm
from steelyard.units import Duration

FAKES = Path(__file__).parent / "fakes"
SHADOWS = {
    "garbage": "printf '{\\377]|x\\n<>\\n'",
    "silent": ":",
    "crash": "kill -SEGV $$",
    "slow": "sleep 30",
    "refuses": "echo 'no, thank you' >&2; exit 1",
}


class Bench:
    """A site whose scheduler's calls are counted, and which can be made to misbehave."""

    title: ClassVar[str]
    submits: ClassVar[str]
    tells: ClassVar[str]  # the program that tells how jobs stand
    hosts = 4
    queue, options = "short", ("-P", "x")
    speed = 1.0  # seconds of a time limit in a real second
    real = False

    def __init__(self, kind: type[BatchSite[Any]], place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place, self._monkeypatch, self._kind = place, monkeypatch, kind
        self.calls: list[tuple[str, ...]] = []
        self.answer_within = PATIENCE
        self.site = self.new()

    def new(self, **options: Any) -> BatchSite[Any]:
        """A site with these options."""
        site = self._kind(self._kind.Options(**options))
        site.calls.caller = self._call
        site.calls.retry_timeout = PATIENCE
        site.calls.first_pause, site.calls.last_pause = 0.05, 0.3
        return site

    async def _call(self, argv: Sequence[str], **options: Any) -> Answer:
        self.calls.append(tuple(argv))
        return await call(argv, seconds=self.answer_within, **options)

    def request(self, *argv: str, hosts: int = 1, seconds: float = 600, **facts: Any) -> JobRequest:
        """A job that runs a program of the test's."""
        site = self.new(time=Duration(seconds))
        request = site.make_request(
            "test job", [], hosts=hosts, output=self.output, working_directory=self.place
        )
        return dataclasses.replace(request, argv=argv, **facts)

    @property
    def output(self) -> Path:
        """Where jobs write to."""
        return self.place / "out put"

    async def said(self, text: str) -> str:
        """What jobs have written, as soon as it holds this."""
        written = lambda: self.output.read_text() if self.output.exists() else ""  # noqa: E731
        assert await comes(lambda: text in written()), written() or "no output"
        return written()

    async def run(self, request: JobRequest) -> Job:
        """Submit a job and see it to its end."""
        return await self.site.jobs.wait_until(await self.site.submit(request), lambda job: job.state.is_over)

    @contextmanager
    def shadowed(self, program: str, how: str) -> Iterator[None]:
        """Another program of this name comes first on PATH."""
        place = self.place / "shadow"
        place.mkdir(exist_ok=True)
        (place / program).write_text(f"#!/bin/sh\n{SHADOWS[how]}\n")
        (place / program).chmod(0o755)
        with self._monkeypatch.context() as patch:
            patch.setenv("PATH", f"{place}:{os.environ['PATH']}")
            yield

    @contextmanager
    def down(self) -> Iterator[None]:
        """The scheduler cannot be reached."""
        raise NotImplementedError
        yield

    def close(self) -> None:
        """Leave nothing."""


class SlurmBench(Bench):
    title, submits, tells, real, options = "Slurm", "sbatch", "squeue", True, ("--comment=x",)

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch, conf: Path) -> None:
        self._conf = conf
        monkeypatch.setenv("SLURM_CONF", str(conf))
        super().__init__(Slurm, place, monkeypatch)

    @contextmanager
    def down(self) -> Iterator[None]:
        dead = self.place / "dead.conf"
        with socket.socket() as taken:  # bound and not listening: nobody answers there
            taken.bind(("127.0.0.1", 0))
            lines = self._conf.read_text().splitlines()
            kept = [line for line in lines if not line.startswith("SlurmctldPort=")]
            dead.write_text(
                "\n".join([*kept, f"SlurmctldPort={taken.getsockname()[1]}", "MessageTimeout=2", ""])
            )
            with self._monkeypatch.context() as patch:
                patch.setenv("SLURM_CONF", str(dead))
                yield

    def close(self) -> None:
        subprocess.run(["scancel", "--signal=KILL", "--full", "--user", str(os.getuid())], check=False)
        listed = lambda: subprocess.run(["squeue", "--noheader"], capture_output=True, check=True).stdout  # noqa: E731
        assert until(lambda: not listed()), listed()


class FakeBench(Bench):
    """A stand-in of `fakes/`, put on PATH under the names of its commands."""

    kind: ClassVar[type[BatchSite[Any]]]
    script: ClassVar[str]

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        programs, self._state = place / "bin", place / "state"
        programs.mkdir()
        for name in self.kind.needs:
            wrapper = programs / name
            wrapper.write_text(
                f"#!{sys.executable} -S\n" + WRAPPER.format(folder=str(FAKES), script=self.script)
            )
            wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        monkeypatch.setenv("FAKE_DIR", str(self._state))
        monkeypatch.setenv("FAKE_SPEED", str(self.speed))
        super().__init__(self.kind, place, monkeypatch)

    @contextmanager
    def down(self) -> Iterator[None]:
        with self._monkeypatch.context() as patch:
            patch.setenv("FAKE_MODE", "down")
            yield

    def close(self) -> None:
        file = self._state / "jobs.json"
        for job in json.loads(file.read_text()).values() if file.exists() else ():
            for group in (job.get("runner"), job.get("group")):
                if group and job["state"] != "over":
                    with suppress(ProcessLookupError):
                        os.killpg(group, signal.SIGKILL)


WRAPPER = """import sys
sys.path.insert(0, {folder!r})
import {script}
{script}.main()
"""


class LsfBench(FakeBench):
    title, submits, tells, kind, script, speed = "LSF", "bsub", "bjobs", Lsf, "lsf", 60.0


class PbsBench(FakeBench):
    title, submits, tells, kind, script = "PBS", "qsub", "qstat", Pbs, "pbs"


class GridengineBench(Bench):
    """One host with four slots, in a parallel environment whose slots may lie on the same host."""

    title, submits, tells, real, hosts = "Grid Engine", "qsub", "qstat", True, 1
    queue, options = "all.q", ("-p", "-1")

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch, commands: Path) -> None:
        self._commands = commands
        monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
        super().__init__(Gridengine, place, monkeypatch)

    @contextmanager
    def down(self) -> Iterator[None]:
        """As qstat of 8.1.9 says it when nobody listens."""
        said = (
            "echo 'error: commlib error: got select error (Connection refused)' >&2; echo 'error: unable"
            ' to send message to qmaster using port 6444 on host "ge1": got send error\' >&2; exit 1'
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(SHADOWS, "down", said)
            with self.shadowed("qstat", "down"), self.shadowed("qsub", "down"):
                yield

    def close(self) -> None:
        subprocess.run([str(self._commands / "qdel"), "-f", "-u", "*"], check=False, capture_output=True)
        asked = [str(self._commands / "qstat"), "-xml", "-u", "*"]
        listed = lambda: subprocess.run(asked, capture_output=True, text=True, check=True).stdout  # noqa: E731
        assert until(lambda: "job_number" not in listed()), listed()


BENCHES: dict[str, Any] = {
    "slurm": partial(SlurmBench),
    "lsf": LsfBench,
    "pbs": PbsBench,
    "gridengine": GridengineBench,
}
