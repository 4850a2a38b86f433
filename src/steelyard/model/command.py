"""What is started on a host, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from steelyard.model.engine import JobQueue


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments: never a shell line.

    `env` is laid over the environment of the host. `cwd` defaults to the trial's scratch directory.
    `stdin` is text to be fed, for example a script or a job file. `secrets` are variables like those of
    `env` whose values must be in no record.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: PurePosixPath | None = None
    stdin: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def variables(self) -> dict[str, str]:
        """All that is laid over the environment of the host, secrets too: to start it, never to keep."""
        return {**self.env, **self.secrets}

    def wrap(self, *prefix: str) -> Self:
        """The same command started by another: `command.wrapped("numactl", "-N0")`."""
        return replace(self, argv=(*prefix, *self.argv))


@dataclass(frozen=True, slots=True)
class Carrier:
    """What a command makes others run, such as a job that it submits: `payload`, which `load` puts into it.

    `wrap` surrounds the payload, and not the command that carries it.
    """

    payload: Command
    load: Callable[[Command], Command] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Phase:
    """One stage of a workload. A phase that is not `measured` prepares: its output is kept, not parsed.

    `results` are names of files that it may write to its working directory; they are kept as those in
    `Place.raw` are, which come first. `carrier`: its command is loaded with another one. `queue`: where it
    has jobs, which are ended with it.
    """

    name: str
    command: Command
    measured: bool = True
    timeout: float | None = None
    results: tuple[str, ...] = ()
    carrier: Carrier | None = None
    queue: JobQueue | None = None

    @property
    def wrapped(self) -> Command:
        """The command that `wrap` surrounds."""
        return self.carrier.payload if self.carrier else self.command

    def complete(self, wrapped: Command) -> Command:
        """Its command, with that one surrounded."""
        return self.carrier.load(wrapped) if self.carrier else wrapped


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a service answers. `facts` is what else a client must know (`path: /data`), never a secret.

    The `password` is for `Command.secrets` alone; it is in no record. A service that is reached by TLS has an
    `authority`, which signed its servers and nobody else's: the certificate of it as PEM, which is no secret.
    """

    address: str
    port: int
    facts: Mapping[str, str] = field(default_factory=dict)
    password: str | None = field(default=None, repr=False)
    authority: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a copy of a workload runs, as far as it may know.

    `scratch`: its own empty directory on the host, removed after the trial. `raw`: where result files of the
    tool belong; they are kept. `seed`: for the tool's own random numbers, the same in each resume. `cores`,
    `memory` (bytes): of the host. `copy` counts from 0 over all hosts, `copies` is how many there are
    altogether. `host` and `address` are the host's own, `peers` the addresses of all hosts of the workload in
    order. `to` is the service it talks to, where it talks to one. `share` is how many of the cores are the
    workload's own beside the services on its host; 0 where nobody counted. `references` is what there is to
    know of all services and roles, by references such as `kv.port`; `endpoints` are the services that the
    workload's options name. `ranks`: how many of a parallel program are started together, over all hosts.
    `plan`: that of the trace which a workload replays.
    """

    scratch: PurePosixPath
    raw: PurePosixPath
    cores: int
    memory: int
    seed: int
    copy: int = 0
    copies: int = 1
    host: str = "local"
    address: str = "127.0.0.1"
    peers: tuple[str, ...] = ()
    to: Endpoint | None = None
    share: int = 0
    references: Mapping[str, Any] = field(default_factory=dict)
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    ranks: int = 1
    plan: PurePosixPath | None = None


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended. Times in seconds, `peak_memory` (largest process of the tree) in bytes.

    `signal` is set when a signal ended it, `code` otherwise. `leftovers` counts the processes it left
    running, which were ended. `started` is when it began, by its host's wall clock; `released` when it was
    let go, where it waited for an instant. `peak_memory` is None on a host that cannot tell; `peak_is_bound`
    where it is no more than that of what started the program, so that the program's own is at most so much.
    """

    code: int | None
    signal: int | None
    wall: float
    user: float
    system: float
    peak_memory: int | None
    started: float
    leftovers: int = 0
    timed_out: bool = False
    released: float | None = None
    peak_is_bound: bool = False

    @property
    def way(self) -> str:
        """`with code 3`, or `by signal 9`."""
        return f"with code {self.code}" if self.signal is None else f"by signal {self.signal}"


@dataclass(frozen=True, slots=True)
class Output:
    """What a phase left behind, for a workload's `parse`. `raw` holds the files it wrote to `Place.raw`."""

    exit: Exit
    stdout: str
    stderr: str
    raw: Mapping[str, Path] = field(default_factory=dict)
