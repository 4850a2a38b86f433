"""Files that a program writes to its working directory, and that figures are read from."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from steelyard.hosts.base import Host


class ResultFiles:
    """Named files in a directory of a host, as they are before a program runs there.

    Only what is new or was written since is a result: a file of an earlier trial would be taken for one.
    """

    def __init__(self, host: Host, directory: PurePosixPath, names: Sequence[str]) -> None:
        self._host, self._directory, self._names = host, directory, names
        self._before: dict[str, str | None] = {}

    async def record_states(self) -> None:
        """How they are now."""
        self._before = {name: await self._read_state(name) for name in self._names}

    async def fetch(self, folder: Path) -> None:
        """Copy those that have changed into a folder, unless it has one of that name already."""
        for name, before in self._before.items():
            target = folder / name
            if not target.exists() and await self._read_state(name) not in (None, before):
                await self._host.get(self._directory / name, target)

    async def _read_state(self, name: str) -> str | None:
        """What changes whenever a file is written; None without a regular file."""
        path = self._directory / name
        if not self._host.shares_files:
            said = await self._host.capture(("stat", "-L", "-c", "%F %y %s %i", str(path)))
            return said if said and said.startswith("regular") else None
        try:
            status = Path(path).stat()
        except OSError:
            return None
        return (
            f"{status.st_mtime_ns} {status.st_size} {status.st_ino}" if stat.S_ISREG(status.st_mode) else None
        )
