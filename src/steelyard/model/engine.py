"""A batch engine as a workload sees it that submits jobs: commands for its host, and their language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from steelyard.model.command import Command


@dataclass(frozen=True, slots=True)
class EngineJob:
    """A job for an engine: `words` are run on one host, for `seconds` at most, once it has waited for `waits`
    at most, where an engine bounds that. `name` is what it and others are called, `key` which it is.

    It begins in `/`, and what it prints is lost: an engine that finds the directory of a run gone may make it
    anew, which nobody would remove. Its script lies in `file`, for engines that take no other. Where hosts of
    an engine see no file of ours, it begins in a directory of its own, and what it prints is told by
    `Engine.list_stamps`.
    """

    name: str
    key: str
    words: tuple[str, ...]
    seconds: float
    waits: float
    file: PurePosixPath


@dataclass(frozen=True, slots=True)
class EngineSubmission:
    """The command that queues a job; before it, `script` must be in the job's file, if there is one."""

    command: Command
    script: str | None = None


class Engine(Protocol):
    """The builders and parsers of one engine. All of it is pure.

    An id or a number in what they are given may be a stand-in, a word that is replaced in what they make.
    """

    @property
    def title(self) -> str:
        """How people call it: Slurm."""

    @property
    def programs(self) -> tuple[str, ...]:
        """What its commands start, by name or path."""

    @property
    def id_pattern(self) -> tuple[str, int]:
        """The regular expression, with its flags, whose first group is the id in an answer to `submit`."""

    @property
    def variables(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Beginnings of variables that would change what its commands do, and variables kept all the same."""

    def submit(self, job: EngineJob) -> EngineSubmission:
        """Queue a job."""

    def describe(self, ids: Sequence[str]) -> Command:
        """Tell how jobs stand."""

    def list_unfinished(self, name: str) -> Command:
        """Print the ids of the user's jobs of this name that are left, a line each: those that are not over,
        and those that an engine keeps after their end until they are cancelled.
        """

    def list_stamps(self, name: str) -> Command | None:
        """Print how each of the user's jobs of this name stands, a JSON object a line: `job`, its key;
        `stands`, which is `waits`, `runs` or `over`; `why`, what keeps it waiting or ended it against its
        will; `stamps`, what it has printed, which is complete when it is over. None where the engine's hosts
        see the files of the host that submits, in which jobs then leave their stamps.
        """

    def cancel(self, identity: str) -> Command:
        """End a job, whatever its state."""

    def cancel_all(self, name: str) -> Command:
        """End all of the user's jobs of this name; it may fail where there are none."""

    def parse_description(self, stdout: str) -> Mapping[str, str]:
        """A sentence on each job by its id, of what `describe` printed. Raises ParseFailure."""


@dataclass(frozen=True, slots=True)
class JobQueue:
    """Where a phase has jobs of one name: with `engine`, as --site would call it, and how they end there."""

    engine: str
    name: str
    cancel: Command
    list_unfinished: Command
