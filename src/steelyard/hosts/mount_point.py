"""A file system that is mounted for one run alone, in a mount namespace that one process holds.

Nobody outside sees it, and the kernel unmounts it when the last process in the namespace ends, however that
comes about: nothing is left to clean up. Without root it is a user namespace, too, as far as the system
allows that.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import NamedTuple

from steelyard.model.command import Command

_HOLD = """
[ "$(id -u)" = 0 ] && own= || own='--user --map-root-user'
mkdir -p -m 0700 "$1"; shift
exec unshare $own --mount --propagation private "$@"
"""
_ENTER = """
[ "$(id -u)" = 0 ] && own= || own='--user --preserve-credentials'
pid=$1; shift
exec nsenter $own --mount --target "$pid" sh -c 'cd "$0" && exec "$@"' "$@"
"""


def hold_mount(command: Command, path: PurePosixPath) -> Command:
    """A command that mounts at `path` and stays, in a mount namespace of its own."""
    return command.wrap("sh", "-euc", _HOLD, "sh", str(path))


class MountPoint(NamedTuple):
    """Where it is mounted on a host: at `path`, for all that is in the namespace of the process `holder`."""

    holder: int
    path: PurePosixPath

    def enter(self, command: Command, directory: PurePosixPath) -> Command:
        """The command as it is started from outside to run in a directory inside."""
        words = ("sh", "-euc", _ENTER, "sh", str(self.holder), str(directory))
        return replace(command.wrap(*words), cwd=None)

    def outside(self, path: PurePosixPath) -> PurePosixPath:
        """Where a path inside is seen from outside, by root and by the holder's own user."""
        return PurePosixPath(f"/proc/{self.holder}/root{path}")
