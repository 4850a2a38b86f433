"""Runs that share a machine know of each other: the second waits, or runs beside and is marked.

Two advisory locks in a directory of the user's: `turn`, held by the run that measures, and `present`, held
shared by every run, so that each can see whether it is alone; each also adds a byte to that file, so that one
that came and went is noticed. Locks end with their process, and the last run takes the files away: so whoever
has locked a file makes sure that it is still the one that others find.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from steelyard.controller.observer import Observer
from steelyard.errors import HostError
from steelyard.remote.local import this_machine

LOOK_EVERY = 0.1
VARIABLE = "STEELYARD_RUNTIME_DIR"


class Turn:
    """This run's turn on this machine, for as long as the block lasts."""

    def __init__(self, observer: Observer, *, beside: bool) -> None:
        self._observer, self._beside = observer, beside
        self._turn = self._present = -1
        self._arrivals = 0

    async def __aenter__(self) -> Self:
        while True:
            self._open()
            try:
                if not _take(self._turn, fcntl.LOCK_EX):
                    await self._wait()
                self._arrive()
            except BaseException:
                self._close()
                raise
            if self._found_by_others():
                return self
            self._close()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if _take(self._present, fcntl.LOCK_EX) and _take(self._turn, fcntl.LOCK_EX):
            self._remove()
        self._close()

    def alone(self) -> bool:
        """Whether no other run of this user measures here now, nor has since this was asked before."""
        known, self._arrivals = self._arrivals, os.fstat(self._present).st_size
        only = _take(self._present, fcntl.LOCK_EX)
        fcntl.flock(self._present, fcntl.LOCK_SH)  # also a failed conversion loses the lock: flock(2)
        return only and self._arrivals == known

    def _open(self) -> None:
        try:
            self._folder = lock_folder()
            self._turn = _opened(self._folder / "turn")
            try:
                self._present = _opened(self._folder / "present")
            except OSError:
                os.close(self._turn)
                raise
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                self._open()  # the last run has just taken the directory away
                return
            hint = f"set {VARIABLE} to a directory of yours, the same for all your runs here"
            raise HostError(f"cannot lock this machine's turn: {error}", hint=hint) from error

    def _found_by_others(self) -> bool:
        try:
            there = [(self._folder / name).lstat() for name in ("turn", "present")]
        except FileNotFoundError:
            return False
        return all(map(os.path.samestat, there, map(os.fstat, (self._turn, self._present))))

    def _remove(self) -> None:
        with suppress(OSError):  # others may have put something beside them
            if self._found_by_others():
                (self._folder / "present").unlink()
                (self._folder / "turn").unlink()
                self._folder.rmdir()

    def _close(self) -> None:
        os.close(self._turn)
        os.close(self._present)

    def _arrive(self) -> None:
        if _take(self._present, fcntl.LOCK_EX):
            os.ftruncate(self._present, 0)
        fcntl.flock(self._present, fcntl.LOCK_SH)
        with suppress(OSError):  # on a full disk those who come and go in between are not noticed
            os.write(self._present, b".")
        self._arrivals = os.fstat(self._present).st_size

    async def _wait(self) -> None:
        if self._beside:
            self._observer.warned("another run measures on this machine; trials are marked as disturbed")
            return
        self._observer.warned(
            "another run measures on this machine; waiting for it to end (--beside runs at once, and marks)"
        )
        while not _take(self._turn, fcntl.LOCK_EX):  # noqa: ASYNC110 - the kernel tells nobody of a freed lock
            await asyncio.sleep(LOOK_EVERY)


def _take(lock: int, how: int) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def lock_folder() -> Path:
    """A directory of ours that all our runs on this machine find, whatever TMPDIR and XDG_… say in each.

    That of the session, where there is one; else one in our home, which other machines may share; else, for
    an account without a home, one for temporary files. STEELYARD_RUNTIME_DIR names another. Raises OSError.
    """
    if named := os.environ.get(VARIABLE):
        return _private(Path(named) / "steelyard")
    runtime = Path(f"/run/user/{os.getuid()}")
    if _is_private(runtime):
        return _private(runtime / "steelyard")
    if home := _home():
        cache = home / ".cache" / "steelyard"
        cache.mkdir(parents=True, exist_ok=True)
        return _private(cache / f"runs-{this_machine()}")
    return _private(Path(f"/var/tmp/steelyard-{os.getuid()}"))  # noqa: S108 - made, or refused


def _home() -> Path | None:
    """Ours, as the list of accounts has it; a container may run as a user whom that does not know."""
    try:
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None
    return home if home.is_absolute() and home.is_dir() else None


def _private(path: Path) -> Path:
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not _is_private(path):
            why = "it belongs to somebody else, or others may write to it"
            raise PermissionError(errno.EPERM, why, str(path)) from None
    except FileNotFoundError:
        raise NotADirectoryError(errno.ENOTDIR, "there is no such directory", str(path.parent)) from None
    return path


def _is_private(path: Path) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022
