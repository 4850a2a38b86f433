"""What a program on a far host prints, brought here while it runs, so that a lost host leaves evidence."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path, PurePosixPath

from steelyard.errors import HostError, TrialFailure

Script = Callable[..., Awaitable[bytes]]
"""Runs a script with words on the host, and returns what it prints."""

PAUSE, LONGEST_PAUSE = (
    1.0,
    5.0,
)  # seconds between looks; longer while nothing comes, since each costs the host
_BIT, _CHUNK = 256 << 10, 4 << 20  # bytes at a time: while it runs, and at the end
_NEWS = """most=$1
shift
while [ $# -gt 0 ]; do
    size=$(wc -c <"$2")
    left=$((size - $1))
    if [ "$left" -gt "$most" ]; then left=$most; fi
    if [ "$left" -lt 0 ]; then left=0; fi
    echo "$left"
    if [ "$left" -gt 0 ]; then tail -c +$(($1 + 1)) "$2" | head -c "$left"; fi
    shift 2
done
"""


class OutputFollower:
    """Files of a host (`far`) that grow, and their copies here (`near`)."""

    def __init__(self, host: str, script: Script, files: Sequence[tuple[PurePosixPath, Path]]) -> None:
        self._host, self._script, self._files = host, script, files
        self._sizes = [0] * len(files)

    def begin(self) -> None:
        """Make the copies, empty. Raises TrialFailure and HostError."""
        for _, local_path in self._files:
            self._write(local_path, b"", "wb")

    async def follow(self) -> None:
        """Bring what is new about once a second, until the task is cancelled or the host lost."""
        pause = PAUSE
        while True:
            await asyncio.sleep(pause)
            came = await self._fetch_chunk(_BIT)
            pause = PAUSE if came else min(pause * 1.5, LONGEST_PAUSE)

    async def finish(self) -> None:
        """Bring all that is left. Raises HostError."""
        while await self._fetch_chunk(_CHUNK) >= _CHUNK:
            pass
        await self._script('rm -f "$@"', *(str(remote_path) for remote_path, _ in self._files))

    async def _fetch_chunk(self, most: int) -> int:
        """Bring at most so many bytes of each file; how many of the file that gave most."""
        words = [word for size, (remote_path, _) in self._pairs() for word in (str(size), str(remote_path))]
        said = await self._script(_NEWS, str(most), *words)
        came = 0
        for number, (_, local_path) in enumerate(self._files):
            head, newline, said = said.partition(b"\n")
            if not (newline and head.isdigit() and int(head) <= min(most, len(said))):
                raise HostError(f"host {self._host}: the output of a program could not be read")
            length = int(head)
            self._write(local_path, said[:length], "ab")
            self._sizes[number] += length
            said, came = said[length:], max(came, length)
        return came

    def _pairs(self) -> zip[tuple[int, tuple[PurePosixPath, Path]]]:
        return zip(self._sizes, self._files, strict=True)

    def _write(self, near: Path, data: bytes, mode: str) -> None:
        try:
            with near.open(mode) as file:
                file.write(data)
        except OSError as error:
            message = f"the output of a program on {self._host} cannot be saved: {error}"
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise TrialFailure("store-full", message) from error
            raise HostError(message) from error
