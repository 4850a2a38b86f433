"""What a host can be asked to do. Everything that acts, acts through this."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Protocol, runtime_checkable

from steelyard.hosts.clocks import Clocks
from steelyard.hosts.scratch_marker import ScratchMarker
from steelyard.model.command import Command, Exit


class Streams(NamedTuple):
    """Where a process's input comes from and its output goes, on the controller's side."""

    stdout: Path
    stderr: Path
    stdin: Path | None = None


class ClockOffset(NamedTuple):
    """A host's wall clock: `offset` seconds ahead of the controller's, give or take `uncertainty`."""

    offset: float
    uncertainty: float


class Process(Protocol):
    """A started process with everything that it starts in turn."""

    @property
    def pid(self) -> int:
        """Its process id on its host."""

    async def wait(self) -> Exit:
        """How it ended. What it left running has been ended too."""

    async def kill(self, grace: float = 2.0) -> None:
        """End it and all its descendants: SIGTERM, after `grace` seconds SIGKILL until none is left."""


@runtime_checkable
class Cuttable(Protocol):
    """A host whose network can be disturbed from outside, as those of `netns`. All raise HostError."""

    lost_when_cut: bool
    """Whether we reach it over the network that is cut."""

    async def cut(self) -> None:
        """Pull its cable: nothing reaches it, nothing leaves it."""

    async def heal(self) -> None:
        """Plug it in again."""

    async def block_addresses(self, addresses: Sequence[str]) -> None:
        """Have it reach these addresses no more."""

    async def unblock_addresses(self, addresses: Sequence[str]) -> None:
        """Have it reach them again; nothing happens where it does."""


@runtime_checkable
class HostKillable(Protocol):
    """A host that can be killed as a whole, and brought back: a machine that loses power, a deleted pod.

    Until it is back, whoever asks something of it, and whoever waits for a program there, gets HostDown.
    """

    async def kill_host(self) -> None:
        """End everything on it at once, its kernel or its container too, without notice. Raises HostError.

        Returns when it is gone. Nothing happens where it is gone already.
        """

    async def revive(self) -> None:
        """Bring it back under its name; returns when it is reached. Nothing happens where it is there.

        Its scratch directories are there again, marked as ours; what they hold depends on the site. Raises
        HostError that says why it did not come back, and what to do.
        """


@runtime_checkable
class HostPausable(Protocol):
    """A host that can be stopped as a whole in the middle of its work. Both raise HostError."""

    async def pause_host(self) -> None:
        """Freeze everything on it, its kernel too; nobody is told."""

    async def continue_host(self) -> None:
        """Let it go on; nothing happens where it does."""


@runtime_checkable
class HostCheckpointable(Protocol):
    """A host that can be saved to a file as a whole, and go on from there, with its open connections."""

    async def checkpoint_host(self) -> int:
        """Stop it, save it to a file, sync that, and end it; the bytes of the file.

        Raises HostError; then it goes on. To its peers it is silent until it is restored.
        """

    async def restore_host(self) -> None:
        """Have it go on where it was saved; nothing happens where it was not.

        Raises HostError where that fails, as with a damaged file; then the host is lost, and the next `check`
        boots it anew.
        """


@runtime_checkable
class Drainable(Protocol):
    """A host on a node of a cluster that can be emptied for maintenance. All raise HostError."""

    def list_node_hosts(self) -> tuple[Host, ...]:
        """The hosts of the run on its node, itself among them."""

    async def drain_node(self) -> str:
        """Keep new hosts off its node and end all of the run's there; the name of the node.

        Whoever waits for a program on one of them gets HostDown. Nothing happens where it is drained.
        """

    async def uncordon_node(self) -> None:
        """Let hosts be on the node that was drained under it; returns when those of the run are reached.

        Nothing happens where it was not drained.
        """


class Host(ABC):
    """One machine, or a stand-in for one.

    - `name` is how records call it, unique in its lease: letters, digits, dots, dashes.
    - `address` is where the other hosts of the lease reach it.
    - `cores` and `memory` (bytes) are what a process there may use.
    - `machine` tells machines apart: hosts with the same one share a kernel, and so its clock and its load.
    - `own_network`: its network is one that the run has made for itself.
    - `comes_back_empty`: once killed, it comes back without its files, and with another address.
    - `facts` go into the record as they are: its type, its price, how to cut it off.
    - `shares_files`: a path of the controller's names the same file there (a result written there is here).
    - `mark` is what its scratch directories are marked with.

    Methods raise HostError that names the host; HostLost, a HostError, when it does not answer any more; and
    TrialFailure with category `tool-missing` when a program is not there.
    """

    name: str
    address: str
    cores: int
    memory: int
    machine: str
    shares_files: bool
    mark: ScratchMarker
    facts: Mapping[str, Any]
    own_network: bool = False
    comes_back_empty: bool = False

    @property
    def ground(self) -> Host:
        """What carries it: a guest's load is that of the host below it, for all others it is their own."""
        return self

    def scratch_base(self) -> PurePosixPath | None:
        """Where its site wants test data to go; None where the run's own choice holds."""
        return None

    async def gather_facts(self) -> Mapping[str, Any]:
        """`facts`, and what is told of it only after a while. Raises HostError."""
        return self.facts

    def own_processes(self) -> frozenset[int]:
        """Ids of our long-lived processes there; they and all below them are no foreign load."""
        return frozenset()

    def own_user_time(self) -> float:
        """Seconds that our long-lived processes there have spent in user mode."""
        return 0.0

    def agent(self) -> int | None:
        """The process there that does everything for us; None where it cannot be told from its programs."""
        return None

    @abstractmethod
    async def start(
        self, command: Command, streams: Streams, *, cwd: PurePosixPath, at: int | None = None
    ) -> Process:
        """Start a program; `cwd` holds where the command names none.

        With `at` it begins at this instant, in ns of the host's wall clock; this returns when it waits for
        it, and how punctual it was is in its exit (`released`, `started`).
        Output is in `streams` at the latest when `wait` returns.
        """

    async def read_clock_offset(self) -> ClockOffset:
        """How its wall clock stands to ours; exact where the clock is the same."""
        return ClockOffset(0.0, 0.0)

    async def read_clocks(self) -> Clocks | None:
        """Its clocks at one moment, to be compared with a later one; None where it does not tell."""
        return None

    async def check(self) -> None:
        """Make sure that it answers, reaching for it again where it was lost. Raises HostLost."""
        return  # this machine does

    @abstractmethod
    async def put(self, source: Path, target: PurePosixPath) -> None:
        """Copy a file of the controller's, or a folder with everything in it, to a path there."""

    @abstractmethod
    async def get(self, source: PurePosixPath, target: Path) -> None:
        """Copy a file there, or a folder with everything in it, to a path of the controller's."""

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
        """Make a directory for this run, marked as ours, and remember to remove it whatever happens.

        Its name must be one that nobody can guess. Raises HostError where somebody else could replace it.
        """

    @abstractmethod
    async def remove_scratch(self, path: PurePosixPath) -> None:
        """Remove such a directory with everything in it."""

    @abstractmethod
    async def restore_at_end(self, path: str, value: str) -> None:
        """Have a file of the kernel say `value` again when the run leaves the host, however that ends.

        An empty value takes that back.
        """

    @abstractmethod
    async def make_directory(self, path: PurePosixPath) -> None:
        """Make a directory inside the scratch; it may be there already."""

    @abstractmethod
    async def remove_directory(self, path: PurePosixPath) -> None:
        """Remove a directory inside the scratch with everything in it."""

    @abstractmethod
    async def read_free_space(self, path: PurePosixPath) -> int:
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
