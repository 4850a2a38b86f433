"""A host that HyperQueue allocates."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from pydantic import AliasChoices, Field

from steelyard.plugin import HostError, UsageError
from steelyard.plugin.transport import Transport
from steelyard.sites.hyperqueue.jobs import parse_jobs
from steelyard.sites.hyperqueue.program.task import HOST
from steelyard.sites.kit.batch.job import Job, JobRequest
from steelyard.sites.kit.batch.nodes import check_hosts
from steelyard.sites.kit.batch.options import OneHostOptions
from steelyard.sites.kit.batch.scheduler import Scheduler
from steelyard.sites.kit.batch.site import BatchSite

_PROGRAM = str(Path(__file__).with_name("program"))
_ONE_HOST = "a job of HyperQueue has one host"


class HyperqueueOptions(OneHostOptions):
    """What HyperQueue can be told."""

    title = "HyperQueue"
    one_host = _ONE_HOST
    lacks = frozenset({"queue", "account", "qos", "reservation"})

    queue: str = Field(
        "",
        validation_alias=AliasChoices("queue", "partition"),
        description="Not for HyperQueue, which has no queues.",
    )
    account: str = Field("", description="Not for HyperQueue, which has no accounts.")
    qos: str = Field("", description="Not for HyperQueue, which has no qualities of service.")
    reservation: str = Field("", description="Not for HyperQueue, which has no reservations.")
    nodes: int | None = Field(None, ge=1, description="Number of hosts: a job of HyperQueue has one.")
    server_directory: str = Field(
        "", description="Directory of the server; default: HQ_SERVER_DIR, else ~/.hq-server."
    )
    cores: int = Field(
        1, ge=1, description="Cores of the job; with `exclusive`, it gets all that a worker has."
    )


class HyperqueueScheduler(Scheduler[HyperqueueOptions]):
    """Our program's commands, and what they print. HyperQueue cannot suspend jobs."""

    title = "HyperQueue"
    env_filter_prefixes = ("HQ_",)
    env_filter_exceptions = ("HQ_SERVER_DIR",)
    job_id_pattern = re.compile(r"^(\d+)\Z", re.ASCII)
    unknown_job_pattern = re.compile(r"the server knows no job")
    unreachable_pattern = re.compile(r"cannot reach the server of .* is unreachable")

    def _argv(self, *words: str) -> tuple[str, ...]:
        if find_spec("hyperqueue") is None:
            hint = "install it: `pip install 'steelyard[hyperqueue]'`, in the version of the server"
            raise HostError("site hyperqueue needs the Python package hyperqueue", hint=hint)
        chosen = self.options.server_directory
        server = ("--server-dir", str(Path(chosen).expanduser())) if chosen else ()
        return (sys.executable, _PROGRAM, *server, *words)

    def name_command(self, argv: Sequence[str]) -> str:
        """Ours, without Python's own words."""
        return "Steelyard's command for HyperQueue"

    def submit_argv(self, request: JobRequest) -> tuple[str, ...]:
        """The script comes on standard input, for the shell after `--`."""
        if request.hosts > 1:
            raise UsageError(f"{_ONE_HOST}, but {request.hosts} were requested")
        options = self.options
        return self._argv(
            *("submit", "--name", request.name, "--directory", str(request.working_directory)),
            *("--output", str(request.output), "--python", options.python or sys.executable),
            *("--seconds", str(request.seconds), "--warning", str(request.warning)),
            *("--cpus", "all" if request.exclusive else str(options.cores)),
            *request.extra_options,
            *("--", *self._interpreter()),
        )

    def _interpreter(self) -> list[str]:
        """What reads the script; its first line is but a comment there."""
        return self.options.shell.split() or (["/bin/bash", "-l"] if self.options.setup else ["/bin/sh"])

    def status_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """One call. A server that was started anew knows no job of the one before."""
        return self._argv("status", *ids)

    def parse_status(self, stdout: str, now: float) -> dict[str, Job]:
        """A JSON list of facts."""
        return parse_jobs(stdout)

    def cancel_argv(self, identity: str) -> tuple[str, ...]:
        """SIGTERM, and SIGKILL half a minute later."""
        return self._argv("cancel", identity)

    def unfinished_argv(self, name: str) -> tuple[str, ...]:
        """Those that were submitted by our program, which notes their names."""
        return self._argv("list", name)

    def cancel_named_argv(self, name: str) -> tuple[str, ...]:
        """As `cancel_argv`, for each."""
        return self._argv("cancel-named", name)

    def own_job(self, environment: Mapping[str, str]) -> str | None:
        """Set by the worker, and by our program beside."""
        return environment.get("HQ_JOB_ID") if HOST in environment else None

    def parse_hosts(self, environment: Mapping[str, str], content: str) -> tuple[str, ...]:
        """The one that our program told."""
        return check_hosts([environment.get(HOST, "").partition(".")[0]], "the job's host")

    def transport(self, job: str, name: str, address: str) -> Transport:
        """There is no other host than the one that we are on."""
        raise HostError(f"{name} is not the host of HyperQueue's job {job}; {_ONE_HOST}")


class Hyperqueue(BatchSite[HyperqueueOptions]):
    """The host of a HyperQueue job; tested with HyperQueue 0.27.

    `--site hyperqueue` submits one job to a server that you have started (`hq server start`, `hq worker
    start`). The job gets all cores of a worker, or `cores` of them with `exclusive: false`, and waits for a
    worker that lives as long as `time`. `options` may hold `--priority=N` and `--resource=NAME=AMOUNT`.

    Install Steelyard where all workers can access it, with the Python package hyperqueue in the version of
    the server: `pip install 'steelyard[hyperqueue]'`. The store and the server's directory must be on a file
    system that the workers share. A job has its worker's environment, not yours.

    A job has one host: for experiments on several, use another site. HyperQueue cannot suspend jobs, so
    `steelyard suspend` is refused. A small program that starts the job on its worker also ends it, at the
    time limit or when it is cancelled; a job that is cancelled in the queue stays in HyperQueue's own list
    until a worker takes it, and ends at once.
    """

    Options = HyperqueueOptions
    examples = ({"time": "2h", "exclusive": False, "cores": 4},)
    scheduler_class = HyperqueueScheduler

    @classmethod
    def list_missing(cls) -> tuple[str, ...]:
        """Its package."""
        return () if find_spec("hyperqueue") else ("the Python package hyperqueue",)

    def size(self) -> int | None:
        """One."""
        return 1
