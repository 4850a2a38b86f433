"""What a host can be asked to do. Everything that acts, acts through this."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol

from steelyard.model.command import Command, Exit


class Streams(NamedTuple):
    """Where a process's input comes from and its output goes, on the controller's side."""

    stdout: Path
    stderr: Path
    stdin: Path | None = None


class Process(Protocol):
    """A started process with everything that it starts in turn."""

    @property
    def pid(self) -> int:
        """Its process id on its host."""

    async def wait(self) -> Exit:
        """How it ended. What it left running has been ended too."""

    async def kill(self, grace: float = 2.0) -> None:
        """End it and all its descendants: SIGTERM, after `grace` seconds SIGKILL until none is left."""


class Host(ABC):
    """One machine, or a stand-in for one.

    `name` is how records call it; `cores` and `memory` (bytes) are what a process there may use.
    Methods raise HostError, and TrialFailure with category `tool-missing` when a program is not there.
    """

    name: str
    cores: int
    memory: int

    def own_processes(self) -> frozenset[int]:
        """Ids of our long-lived processes there; they and all below them are no foreign load."""
        return frozenset()

    def own_user_time(self) -> float:
        """Seconds that our long-lived processes there have spent in user mode."""
        return 0.0

    @abstractmethod
    async def start(self, command: Command, streams: Streams, *, cwd: PurePosixPath) -> Process:
        """Start a program; `cwd` holds where the command names none."""

    @abstractmethod
    async def read(self, patterns: Iterable[str]) -> dict[str, str]:
        """The content of files by path; a pattern may hold `*`. What cannot be read is left out."""

    @abstractmethod
    async def capture(self, argv: tuple[str, ...], *, seconds: float = 10.0) -> str | None:
        """What a small program prints; None when it is missing, fails or takes too long."""

    @abstractmethod
    async def which(self, program: str) -> str | None:
        """Where a program lies on the host's PATH."""

    @abstractmethod
    async def make_scratch(self, path: PurePosixPath) -> None:
        """Make a directory for this run, marked as ours, and remember to remove it whatever happens."""

    @abstractmethod
    async def remove_scratch(self, path: PurePosixPath) -> None:
        """Remove such a directory with everything in it."""

    @abstractmethod
    async def make_directory(self, path: PurePosixPath) -> None:
        """Make a directory inside the scratch; it may be there already."""

    @abstractmethod
    async def remove_directory(self, path: PurePosixPath) -> None:
        """Remove a directory inside the scratch with everything in it."""

    @abstractmethod
    async def free_space(self, path: PurePosixPath) -> int:
        """Bytes that are free for us on the file system of a directory."""

    @abstractmethod
    async def sync(self) -> None:
        """Write what is dirty to disk."""

    @abstractmethod
    async def drop_caches(self) -> bool:
        """Empty the page cache; False where that is not allowed."""


async def finish(process: Process, timeout: float | None) -> tuple[Exit, bool]:
    """Wait for a process at most so many seconds, then end it. The exit, and whether time ran out.

    It is ended as well when the waiting task is cancelled.
    """
    try:
        async with asyncio.timeout(timeout):
            return await process.wait(), False
    except TimeoutError:
        await process.kill()
        return await process.wait(), True
    except asyncio.CancelledError:
        await asyncio.shield(process.kill(grace=0.5))
        raise
