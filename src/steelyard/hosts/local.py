"""This machine as a host: everything is started by the run's minder."""

from __future__ import annotations

import asyncio
import glob
import os
import re
import resource
import shutil
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path, PurePosixPath

from steelyard.errors import HostError, TrialFailure
from steelyard.hosts.agent.child import AgentChild, StartError
from steelyard.hosts.agent.probe import find_probe
from steelyard.hosts.base import Host, Process, Streams, finish
from steelyard.hosts.clocks import Clocks, read_own_clocks
from steelyard.hosts.gate import GatedProcess, gate_command
from steelyard.hosts.lease import Lease
from steelyard.hosts.machine import identify_machine
from steelyard.hosts.minder.scratch import remove_scratch
from steelyard.hosts.token import Token
from steelyard.model.command import Command

MOST_READ = 1 << 20
_STEADY = re.compile(r"/proc/(stat|vmstat|meminfo|diskstats|([0-9]+/)?net/dev|pressure/[a-z]+)")
_LEADER = 8 << 20  # bytes; shells, nsenter and the probe, which lead to a program, are smaller


class LocalHost(Host):
    """This machine, or a part of it: `prefix` leads there, words before each command such as nsenter's."""

    def __init__(
        self, lease: Lease, name: str = "local", address: str = "127.0.0.1", prefix: tuple[str, ...] = ()
    ) -> None:
        self.name, self.address, self.lease, self._prefix = name, address, lease, prefix
        self.machine, self.shares_files, self.facts = identify_machine(), True, {}
        self.mark = lease.mark
        self._steady: dict[str, int] = {}  # files that are read again and again, kept open
        self._parents: set[Path] = set()  # directories that we made, and remove when they are empty
        self.cores = len(os.sched_getaffinity(0))
        self.memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    @classmethod
    @asynccontextmanager
    async def open(cls, token: Token, log: Path) -> AsyncIterator[LocalHost]:
        """This machine with a minder of its own, for as long as the block lasts."""
        async with Lease.open(token, log=log) as lease:
            yield cls(lease)

    def own_processes(self) -> frozenset[int]:
        """The controller; the minder is its child."""
        return frozenset({os.getpid(), self.lease.minder_pid})

    def own_user_time(self) -> float:
        """The controller's; the minder's is too little to matter."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_utime

    def agent(self) -> int:
        """The minder."""
        return self.lease.minder_pid

    async def read_clocks(self) -> Clocks:
        """Our own."""
        return read_own_clocks()

    async def start(
        self, command: Command, streams: Streams, *, cwd: PurePosixPath, at: int | None = None
    ) -> Process:
        """Start a program; see `Host`."""
        if at is not None:
            return await self._start_at(command, streams, cwd, at)
        return await self._start(command, streams, cwd, _LEADER if self._prefix else 0)

    async def _start(
        self, command: Command, streams: Streams, cwd: PurePosixPath, least_peak: int
    ) -> AgentChild:
        self._check_program(command, cwd)
        try:
            return await self.lease.start(
                (*self._prefix, *command.argv),
                env=command.variables,
                cwd=str(command.cwd or cwd),
                stdin=streams.stdin,
                stdout=streams.stdout,
                stderr=streams.stderr,
                least_peak=least_peak,
            )
        except StartError as error:
            raise error.as_failure() from error

    async def _start_at(self, command: Command, streams: Streams, cwd: PurePosixPath, at: int) -> Process:
        """Start a gate that becomes the program; what it notes goes to a file without a name."""
        self._check_program(command, cwd, gated=True)
        noted = os.memfd_create("gate")
        try:
            record = Path(f"/proc/{os.getpid()}/fd/{noted}")
            machine = os.uname()
            probe = find_probe(machine.sysname, machine.machine)
            child = await self._start(gate_command(command, at, record, probe), streams, cwd, _LEADER)
        except BaseException:
            os.close(noted)
            raise
        return GatedProcess(child, noted)

    def _check_program(self, command: Command, cwd: PurePosixPath, *, gated: bool = False) -> None:
        """Look for a program that the minder does not start itself: it would only find what leads there."""
        if not (gated or self._prefix) or not command.argv:
            return
        name, path = command.argv[0], {**os.environ, **command.variables}.get("PATH", os.defpath)
        place = os.path.join(command.cwd or cwd, name) if "/" in name else name  # noqa: PTH118
        if shutil.which(place, path=path) is None:
            raise StartError("program", name, "ENOENT").as_failure()

    async def read(self, patterns: Iterable[str]) -> dict[str, str]:
        """The content of files; see `Host`."""
        contents: dict[str, str] = {}
        for pattern in patterns:
            for path in sorted(glob.glob(pattern)) if "*" in pattern else (pattern,):  # noqa: PTH207 - 10x faster
                with suppress(OSError):
                    contents[path] = self._read_steady(path) if _STEADY.fullmatch(path) else _read_file(path)
        return contents

    def _read_steady(self, path: str) -> str:
        """Opening one of them anew costs more than reading it, once a second for hours."""
        file = self._steady.get(path)
        if file is None:
            file = self._steady[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return _read_all(file).decode(errors="replace")

    def __del__(self) -> None:
        for file in vars(self).get("_steady", {}).values():
            os.close(file)

    async def capture(self, argv: tuple[str, ...], *, seconds: float = 10.0) -> str | None:
        """What a small program prints; see `Host`. Through the minder too, so that it cannot stay behind."""
        said = os.memfd_create("said")  # a file without a name: nothing to sweep should we die
        try:
            place = Path(f"/proc/{os.getpid()}/fd/{said}")
            process = await self.start(Command(argv), Streams(place, place), cwd=PurePosixPath("/"))
            ended, timed_out = await finish(process, seconds)
            text = os.pread(said, MOST_READ, 0).decode(errors="replace")
        except (HostError, TrialFailure):
            return None
        finally:
            os.close(said)
        return text if ended.code == 0 and not timed_out else None

    async def put(self, source: Path, target: PurePosixPath) -> None:
        """Copy to a path of this machine."""
        await asyncio.to_thread(self._copy, source, Path(target))

    async def get(self, source: PurePosixPath, target: Path) -> None:
        """Copy from a path of this machine."""
        await asyncio.to_thread(self._copy, Path(source), target)

    def _copy(self, source: Path, target: Path) -> None:
        try:
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
            else:
                shutil.copy(source, target)
        except OSError as error:
            raise HostError(f"cannot copy {source} to {target} on {self.name}: {error}") from error

    async def which(self, program: str) -> str | None:
        """Where a program lies on PATH."""
        return shutil.which(program)

    async def make_scratch(self, path: PurePosixPath) -> None:
        """Make a marked directory that the minder removes should we die; see `Host`."""
        parent = Path(path).parent
        if not parent.exists():
            self._parents.add(parent)
        await self.lease.make_scratch(Path(path))

    async def remove_scratch(self, path: PurePosixPath) -> None:
        """Remove it, its marker last; what cannot be removed stays on the minder's list, and `clean`'s."""
        try:
            remove_scratch(os.fsencode(path), self.mark.text.__eq__)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise HostError(f"cannot remove the scratch directory {path}: {error.strerror}") from error
        await self.lease.forget_scratch(Path(path))
        if Path(path).parent in self._parents:
            with suppress(OSError):  # others may use it by now
                Path(path).parent.rmdir()

    async def restore_at_end(self, path: str, value: str) -> None:
        """By the minder."""
        await self.lease.restore_at_end(path, value)

    async def make_directory(self, path: PurePosixPath) -> None:
        """Make a directory inside the scratch."""
        try:
            Path(path).mkdir(mode=0o700, exist_ok=True)  # the scratch may be open for passage
        except OSError as error:
            raise HostError(f"cannot create the directory {path}: {error.strerror}") from error

    async def remove_directory(self, path: PurePosixPath) -> None:
        """Remove a directory with everything in it; symbolic links are removed, never followed."""
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise HostError(f"cannot remove {path}: {error.strerror}") from error

    async def read_free_space(self, path: PurePosixPath) -> int:
        """Bytes free for us under a directory; those of the nearest parent that exists."""
        place = next(parent for parent in (Path(path), *Path(path).parents) if parent.exists())
        status = os.statvfs(place)
        return status.f_bavail * status.f_frsize

    async def sync(self) -> None:
        """Write what is dirty to disk, without holding up the controller's loop."""
        await asyncio.to_thread(os.sync)

    async def drop_caches(self) -> bool:
        """Empty page cache, dentries and inodes through /proc/sys/vm/drop_caches (root only)."""
        try:
            await asyncio.to_thread(Path("/proc/sys/vm/drop_caches").write_text, "3")
        except OSError:
            return False
        return True


def _read_file(path: str) -> str:
    """A file's beginning. Files of /proc give a page at a time, so one read may not be all there is."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # a file object would cost half as much again
    try:
        return _read_all(file).decode(errors="replace")
    finally:
        os.close(file)


def _read_all(file: int) -> bytes:
    parts, read = [], 0
    while read < MOST_READ and (part := os.pread(file, min(MOST_READ - read, 65536), read)):
        parts.append(part)
        read += len(part)
    return b"".join(parts)
