"""Copy files and folders to and from a far host, each through a channel of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from steelyard.errors import HostError, HostLost
from steelyard.hosts.agent.wire import build_script
from steelyard.hosts.archive import ArchiveBounds, ArchiveError, pack, unpack
from steelyard.hosts.transport import Channel, Transport

IDLE = 60.0
"""Seconds without a byte after which a host is taken for lost."""
_REASON_WITHIN = 2.0
_BLOCK = 1 << 20
_MOST_NOISE = 65536
_MOST_REASON = 2000
_TAKE_FILE = """umask 077
part=$1.$(printf %s $(od -An -v -tx1 -N8 /dev/urandom))
set -C # a new file, and no link that another has laid there
: >"$part" || exit
cat >>"$part" && chmod "$2" "$part" && mv -f "$part" "$1" || { rm -f "$part"; exit 1; }
"""
_TAKE_FOLDER = 'mkdir -p "$1" && cd "$1" && exec tar -xof -'
_GIVE = """if [ -d "$1" ]; then cd "$1" && echo steelyard-copy folder && exec tar -cf - .
elif [ -f "$1" ]; then exec 3<"$1" && echo steelyard-copy file && exec cat <&3
else echo "no such file or folder" >&2; exit 1; fi
"""

T = TypeVar("T")


async def put(transport: Transport, source: Path, target: PurePosixPath) -> None:
    """Copy a file or a folder to a host. Raises HostError."""
    try:
        if source.is_dir():
            async with _open_channel(transport, f"{source} to {target}", _TAKE_FOLDER, str(target)) as copy:
                await copy.run_in_thread(lambda: pack(source, copy))
        else:
            mode = f"{source.stat().st_mode & 0o755 | 0o600:o}"
            async with _open_channel(
                transport, f"{source} to {target}", _TAKE_FILE, str(target), mode
            ) as copy:
                await _feed(copy, source)
    except OSError as error:
        raise HostError(f"host {transport.name}: cannot copy {source} to {target}: {error}") from error


async def get(
    transport: Transport, source: PurePosixPath, target: Path, bounds: ArchiveBounds | None = None
) -> None:
    """Copy a file or a folder from a host. Raises HostError, also for a folder that may not be believed."""
    try:
        async with _open_channel(transport, str(source), _GIVE, str(source)) as copy:
            if await copy.read_kind() == b"folder":
                await copy.run_in_thread(lambda: unpack(copy, target, bounds))
            else:
                await _drain(copy, target, (bounds or ArchiveBounds()).size)
    except ArchiveError as error:
        raise HostError(f"host {transport.name}: its archive of {source} was rejected: {error}") from error
    except OSError as error:
        raise HostError(f"host {transport.name}: cannot copy {source} to {target}: {error}") from error


async def _feed(copy: CopyChannel, source: Path) -> None:
    with source.open("rb") as file:
        while data := file.read(_BLOCK):
            await copy.send(data)


async def _drain(copy: CopyChannel, target: Path, most: int) -> None:
    with target.open("wb") as file:
        while data := await copy.receive(_BLOCK):
            most -= file.write(data)
            if most < 0:
                raise ArchiveError("it is truncated")


class CopyChannel:
    """A channel with a script that takes or gives one copy; `read` and `write` are for threads."""

    def __init__(self, name: str, what: str, channel: Channel) -> None:
        self._name, self._what, self._channel = name, what, channel
        self._loop = asyncio.get_running_loop()
        self._reason = asyncio.create_task(self._read_errors())

    async def send(self, data: bytes) -> None:
        """Hand over bytes. Raises HostLost."""
        await self._await_step(self._channel.send(data))

    async def receive(self, size: int) -> bytes:
        """At most so many bytes; none at the end. Raises HostLost."""
        return await self._await_step(self._channel.stdout.read(size))

    async def read_kind(self) -> bytes:
        """What is given: folder or file. What a login shell says before is passed over."""
        noise = 0
        while line := await self._await_step(self._read_line()):
            words = line.split()
            if words[:1] == [b"steelyard-copy"] and len(words) == 2:
                return words[1]
            noise += len(line)
            if noise > _MOST_NOISE:
                break
        await self.finish()
        raise HostError(f"host {self._name}: it sent no copy of {self._what}")

    async def _read_line(self) -> bytes:
        try:
            return await self._channel.stdout.readline()
        except ValueError as error:  # longer than any line should be
            raise HostError(f"host {self._name}: it sent no copy of {self._what}: {error}") from error

    async def finish(self) -> None:
        """See the script to its end. Raises HostError with its complaint."""
        with suppress(HostLost):
            await self._channel.end_input()
        code = await self._await_step(self._channel.wait())
        reason = await self._await_step(asyncio.shield(self._reason))
        if code:
            raise HostError(f"host {self._name}: cannot copy {self._what}: {reason or f'code {code}'}")

    def close(self) -> None:
        """Give it up."""
        self._channel.close()
        self._reason.cancel()

    async def run_in_thread(self, work: Callable[[], None]) -> None:
        """Do blocking work that calls `read` or `write`."""
        task = asyncio.create_task(asyncio.to_thread(work))
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            self._channel.close()
            await asyncio.gather(task, return_exceptions=True)
            raise

    def read(self, size: int) -> bytes:
        """At most so many bytes, for a thread."""
        return asyncio.run_coroutine_threadsafe(self.receive(size), self._loop).result()

    def write(self, data: bytes) -> int:
        """Take all of it, from a thread."""
        asyncio.run_coroutine_threadsafe(self.send(bytes(data)), self._loop).result()
        return len(data)

    async def _await_step(self, step: Coroutine[Any, Any, T] | asyncio.Future[T]) -> T:
        try:
            async with asyncio.timeout(IDLE):
                return await step
        except TimeoutError:
            raise HostLost(f"host {self._name}: copying made no progress for {IDLE:g} s") from None

    async def _read_errors(self) -> str:
        said = b""
        while data := await self._channel.stderr.read(4096):
            said = (said + data)[:_MOST_REASON]
        return said.decode(errors="replace").strip()


@asynccontextmanager
async def _open_channel(
    transport: Transport, what: str, script: str, *words: str
) -> AsyncIterator[CopyChannel]:
    """A copy under way. Where the script fails, its own complaint is what counts."""
    copy = CopyChannel(transport.name, what, await transport.run(build_script(words, script)))
    try:
        try:
            yield copy
        except (HostLost, ArchiveError):
            with suppress(HostLost, TimeoutError):
                async with asyncio.timeout(_REASON_WITHIN):
                    await copy.finish()  # raises with the reason, if it has one
            raise
        await copy.finish()
    finally:
        copy.close()
