"""A job as schedulers know it, in our words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from steelyard.errors import ParseFailure
from steelyard.units import show_span

NODE_FAILED = "a node failed"
"""Reason of a job that its scheduler ends, or has ended, because of one of its hosts."""


class JobState(StrEnum):
    """Where a job stands; every scheduler's own states are mapped to these."""

    QUEUED = "queued"
    RUNNING = "running"
    SUSPENDED = "suspended"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed-out"
    LOST = "lost"  # the scheduler does not know it (any more)

    @property
    def is_over(self) -> bool:
        """Whether it will not change any more."""
        return self not in (JobState.QUEUED, JobState.RUNNING, JobState.SUSPENDED)


_SENTENCES = {
    JobState.QUEUED: "waits in the queue",
    JobState.RUNNING: "is running",
    JobState.SUSPENDED: "is suspended",
    JobState.DONE: "has finished",
    JobState.FAILED: "has failed",
    JobState.CANCELLED: "was cancelled",
    JobState.TIMED_OUT: "reached its time limit",
    JobState.LOST: "is unknown, or no longer known, to the scheduler",
}


def find_state(states: Mapping[str, JobState], job: str, word: str) -> JobState:
    """What a scheduler's word for the state of a job stands for. Raises ParseFailure for an unknown one."""
    if word not in states:
        raise ParseFailure(f"job {job} has the unknown state '{word[:40]}'")
    return states[word]


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the scheduler described it.

    `reason` says why it is in its state, in our words where we know the scheduler's, else in the scheduler's.
    `hosts` are empty before it runs. `start_time` is an instant of the wall clock, `limit` its time limit,
    both in seconds, None when unknown.
    """

    id: str
    state: JobState
    reason: str = ""
    hosts: tuple[str, ...] = ()
    start_time: float | None = None
    limit: float | None = None

    @property
    def sentence(self) -> str:
        """`job 17 waits in the queue: waits for free nodes`."""
        return f"job {self.id} {_SENTENCES[self.state]}{self._details()}"

    def _details(self) -> str:
        where = f" on {', '.join(self.hosts)}" if self.hosts and self.state is JobState.RUNNING else ""
        limit = f" of {show_span(self.limit)}" if self.limit and self.state is JobState.TIMED_OUT else ""
        return where + limit + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class JobRequest:
    """One job to be submitted: `argv` runs on the first of `hosts` hosts for at most `seconds`.

    `environment` is laid over what the job has anyway. `extra_options` are options of the scheduler's own
    submit command, word by word. `output` takes both streams, and is appended to where the scheduler can.
    `script_file` is where its script lies, for schedulers that run a file. Where it is not `warned`, no
    signal comes before its time limit.
    """

    name: str
    argv: tuple[str, ...]
    hosts: int
    seconds: float
    output: Path
    working_directory: Path
    partition: str = ""
    account: str = ""
    qos: str = ""
    reservation: str = ""
    exclusive: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    extra_options: tuple[str, ...] = ()
    script_file: Path | None = None
    warned: bool = True

    @property
    def minutes(self) -> int:
        """Its time limit in whole minutes, as most schedulers count; never less than asked."""
        return max(1, -int(-self.seconds // 60))

    @property
    def warning(self) -> int:
        """How many seconds before its end it is told so; 0 where it is not."""
        return int(min(60, self.seconds / 2)) if self.warned else 0
