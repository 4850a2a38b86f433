"""A test bench for each batch scheduler: a real one, or a stand-in that really runs jobs."""

from __future__ import annotations

import asyncio
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
from steelyard.sites.htcondor import Htcondor
from steelyard.sites.hyperqueue import Hyperqueue
from steelyard.sites.kit.batch.job import Job, JobRequest
from steelyard.sites.kit.batch.site import BatchSite
from steelyard.sites.lsf import Lsf
from steelyard.sites.pbs import Pbs
from steelyard.sites.slurm import Slurm
from steelyard.units import Duration

MOST_JOBS = 500  # of a session with one server
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
    cancels = "qdel"
    hosts = 4
    queue, options = "short", ("-P", "x")
    refused: ClassVar[dict[str, Any]] = {"partition": "no-such-queue"}  # what it has not
    speed = 1.0  # seconds of a time limit in a real second
    warned_of: float | None = None  # a time limit whose warning comes soon; None where nobody may wait for it
    overrun: float | None = None  # one that is reached soon
    can_suspend = True
    has_one_host = False  # all of which a job gets

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
        """A job that runs a program of the test's; one on all four hosts has all that there are."""
        site = self.new(time=Duration(seconds))
        hosts = 1 if self.has_one_host and hosts <= 4 else hosts
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
    def missing(self) -> Iterator[str]:
        """It is not installed; what an error must name then."""
        with self._monkeypatch.context() as patch:
            patch.setenv("PATH", str(self.place))
            yield self.tells

    def called(self, program: str) -> list[tuple[str, ...]]:
        """The calls of one of its programs."""
        return [words for words in self.calls if program in words[:5]]

    @contextmanager
    def down(self) -> Iterator[None]:
        """The scheduler cannot be reached."""
        raise NotImplementedError
        yield

    def close(self) -> None:
        """Leave nothing."""


class SlurmBench(Bench):
    title, submits, tells, cancels, options = "Slurm", "sbatch", "squeue", "scancel", ("--comment=x",)

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
    title, submits, tells, cancels, kind, script, speed = "LSF", "bsub", "bjobs", "bkill", Lsf, "lsf", 60.0
    warned_of, overrun = 300, 60


class PbsBench(FakeBench):
    title, submits, tells, kind, script = "PBS", "qsub", "qstat", Pbs, "pbs"
    warned_of, overrun = 8, 1


class HtcondorBench(FakeBench):
    """A pool of one host, all of which each job asks for."""

    title, submits, tells, cancels, hosts = "HTCondor", "condor_submit", "condor_q", "condor_rm", 1
    kind, script = Htcondor, "htcondor"
    queue, options = "", ("-append", "request_memory = 64")
    refused: ClassVar[dict[str, Any]] = {"account": "no such group"}
    warned_of, overrun, has_one_host = 8, 1, True


class HtcondorPoolBench(Bench):
    """The same with a real pool."""

    title, submits, tells, cancels, hosts = "HTCondor", "condor_submit", "condor_q", "condor_rm", 1
    queue, options, refused = HtcondorBench.queue, HtcondorBench.options, HtcondorBench.refused
    warned_of, overrun, has_one_host = 8, 1, True

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch, commands: Path) -> None:
        self._commands = commands
        monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
        super().__init__(Htcondor, place, monkeypatch)

    @contextmanager
    def down(self) -> Iterator[None]:
        """As both of 23.9.6 say it when the schedd is off."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(SHADOWS, "down", 'echo "ERROR: Can\'t find address of local schedd" >&2; exit 1')
            with self.shadowed("condor_q", "down"), self.shadowed("condor_submit", "down"):
                yield

    def close(self) -> None:
        subprocess.run([str(self._commands / "condor_rm"), "-all"], check=False, capture_output=True)
        asked = [str(self._commands / "condor_q"), "-json", "-attributes", "ClusterId"]
        listed = lambda: subprocess.run(asked, capture_output=True, text=True, check=True).stdout  # noqa: E731
        assert until(lambda: "ClusterId" not in listed()), listed()


class GridengineBench(Bench):
    """One host with four slots, in a parallel environment whose slots may lie on the same host."""

    title, submits, tells, hosts = "Grid Engine", "qsub", "qstat", 1
    queue, options = "all.q", ("-p", "-1")
    warned_of = 60

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


class HyperqueueBench(Bench):
    """A real server whose one worker runs one job at a time, as each takes all of its cores."""

    title, submits, tells, cancels, hosts = "HyperQueue", "submit", "status", "cancel", 1
    queue, options = "", ("--priority=1",)
    refused: ClassVar[dict[str, Any]] = {"extra_options": ("--priority=high",)}
    warned_of, overrun, can_suspend, has_one_host = 8, 1, False, True

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch, server: Any) -> None:
        self._server = server
        self._shadows: dict[str, str] = {}
        monkeypatch.setenv("HQ_SERVER_DIR", str(server.directory))
        super().__init__(Hyperqueue, place, monkeypatch)

    async def _call(self, argv: Sequence[str], **options: Any) -> Answer:
        how = next((self._shadows[verb] for verb in self._shadows if verb in argv), "")
        self.calls.append(tuple(argv))
        entered = (*self._server.enter, *argv)
        words = ("sh", "-c", SHADOWS[how]) if how else entered
        return await call(words, seconds=self.answer_within, **options)

    @contextmanager
    def shadowed(self, program: str, how: str) -> Iterator[None]:
        self._shadows[program] = how
        yield
        del self._shadows[program]

    @contextmanager
    def missing(self) -> Iterator[str]:
        with self._monkeypatch.context() as patch:
            patch.setattr("steelyard.sites.hyperqueue.find_spec", lambda name: None)
            yield "package hyperqueue"

    @contextmanager
    def down(self) -> Iterator[None]:
        key = json.loads((self._server.directory / "hq-current" / "access.json").read_text())
        key["client"]["port"] = 1  # nobody listens there in the server's namespace
        dead = self.place / "dead"
        (dead / "hq-current").mkdir(parents=True)
        (dead / "hq-current" / "access.json").write_text(json.dumps(key))
        with self._monkeypatch.context() as patch:
            patch.setenv("HQ_SERVER_DIR", str(dead))
            yield

    def close(self) -> None:
        """Cancel what is left, so that the next test has the worker."""
        asyncio.run(asyncio.wait_for(self._cancel_all(), PATIENCE))

    async def _cancel_all(self) -> None:
        site, mine = self.new(), map(str, range(1, MOST_JOBS))
        left = [job.id for job in (await site.fetch_jobs(mine)).values() if not job.state.is_over]
        for identity in left:
            await site.jobs.cancel(identity)
        for identity in left:
            await site.jobs.wait_until(identity, lambda job: job.state.is_over)


BENCHES: dict[str, Any] = {
    "slurm": partial(SlurmBench),
    "lsf": LsfBench,
    "pbs": PbsBench,
    "gridengine": GridengineBench,
    "htcondor": HtcondorBench,
    "htcondor-pool": HtcondorPoolBench,
    "hyperqueue": HyperqueueBench,
}
