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
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from steelyard.controller.observer import Observer
from steelyard.errors import HostError
from steelyard.remote.local import this_machine
from steelyard.store.layout import account_name
from steelyard.units import show_span

LOOK_EVERY = 0.1
VARIABLE = "STEELYARD_RUNTIME_DIR"
MEASURES = "has been measuring on this machine"


class Turn:
    """This run's turn on this machine, for as long as the block lasts."""

    def __init__(self, observer: Observer, *, beside: bool, run: str = "") -> None:
        self._observer, self._beside, self._run = observer, beside, run
        self._turn = self._present = -1
        self._arrivals = 0

    async def __aenter__(self) -> Self:
        while True:
            self._open()
            try:
                if _take(self._turn, fcntl.LOCK_EX) or await self._wait():
                    self._sign()
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

    def _sign(self) -> None:
        """Say to those who wait whose turn it is, and since when."""
        with suppress(OSError):  # on a full disk nobody can be told
            os.ftruncate(self._turn, 0)
            os.write(self._turn, f"{self._run} {account_name(os.getuid())} {time.time():.0f}".encode())

    async def _wait(self) -> bool:
        """Wait for the turn, unless this run is to be beside others; whether it is ours now."""
        who = _signed(self._turn)
        if self._beside:
            self._observer.warned(f"{who}; trials are marked as disturbed")
            return False
        self._observer.warned(f"{who}; waiting for it to end (--beside runs at once, and marks)")
        while not _take(self._turn, fcntl.LOCK_EX):  # noqa: ASYNC110 - the kernel tells nobody of a freed lock
            await asyncio.sleep(LOOK_EVERY)
        return True


def _take(lock: int, how: int) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def measuring() -> str | None:
    """Which run of ours measures on this machine now, as a clause; None without any."""
    try:
        turn = os.open(_lock_place() / "turn", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return None if _take(turn, fcntl.LOCK_SH) else _signed(turn)
    finally:
        os.close(turn)


def _signed(turn: int) -> str:
    """Whose turn it is, and for how long it has been."""
    run, _, rest = os.pread(turn, 500, 0).decode("utf-8", "replace").partition(" ")
    who, _, since = rest.rpartition(" ")
    if not (run and who and since.isdecimal()):
        return f"another run {MEASURES}"
    return f"run {run} of {who} {MEASURES} for {show_span(time.time() - int(since))}"


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def lock_folder() -> Path:
    """A directory of ours that all our runs on this machine find, whatever TMPDIR and XDG_… say in each.

    That of the session, where there is one; else one in our home, which other machines may share; else, for
    an account without a home that it may write to, one for temporary files. STEELYARD_RUNTIME_DIR names
    another. Raises OSError.
    """
    place = _lock_place()
    if VARIABLE not in os.environ:
        place.parent.mkdir(parents=True, exist_ok=True)
    return _private(place)


def _lock_place() -> Path:
    if named := os.environ.get(VARIABLE):
        return Path(named) / "steelyard"
    runtime = Path(f"/run/user/{os.getuid()}")
    if _is_private(runtime):
        return runtime / "steelyard"
    if (home := _home()) and _may_write(place := home / ".cache" / "steelyard"):
        return place / f"runs-{this_machine()}"
    return Path(f"/var/tmp/steelyard-{os.getuid()}")  # noqa: S108 - made, or refused


def _home() -> Path | None:
    """Ours, as the list of accounts has it; a container may run as a user whom that does not know."""
    try:
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None
    return home if home.is_absolute() and home.is_dir() else None


def _may_write(place: Path) -> bool:
    """Whether we may make something there, once it and what leads to it is made."""
    return os.access(next(each for each in (place, *place.parents) if each.exists()), os.W_OK)


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
