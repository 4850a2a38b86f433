"""Runs that share a machine know of each other: the second waits, or runs beside and is marked.

Two advisory locks in a directory of the user's: `turn`, held by the run that measures, and `present`, held
shared by every run, so that each can see whether it is alone; each also adds a byte to that file, so that one
that came and went is noticed. Locks end with their process, and the last run takes the files away: so whoever
has locked a file makes sure that it is still the one that others find.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from steelyard.controller.machine.lock_files import (
    VARIABLE,
    describe_owner,
    make_lock_folder,
    open_lock,
    try_lock,
)
from steelyard.controller.observer import Observer
from steelyard.errors import HostError
from steelyard.store.layout import account_name

LOOK_EVERY = 0.1


class MachineLock:
    """This run's turn on this machine, for as long as the block lasts."""

    def __init__(self, observer: Observer, *, parallel: bool, run: str = "") -> None:
        self._observer, self._parallel, self._run = observer, parallel, run
        self._turn = self._present = -1
        self._arrivals = 0

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    async def acquire(self) -> None:
        """Wait for the turn. Raises HostError."""
        while True:
            self._open()
            try:
                if try_lock(self._turn, fcntl.LOCK_EX) or await self._wait():
                    self._write_owner()
                self._register_presence()
            except BaseException:
                self._close()
                raise
            if self._has_current_files():
                return
            self._close()

    def release(self) -> None:
        """Let another run have the turn; no more than that where this one has given it back already."""
        if self._turn < 0:
            return
        if try_lock(self._present, fcntl.LOCK_EX) and try_lock(self._turn, fcntl.LOCK_EX):
            self._remove()
        self._close()

    def is_alone(self) -> bool:
        """Whether no other run of this user measures here now, nor has since this was asked before."""
        known, self._arrivals = self._arrivals, os.fstat(self._present).st_size
        only = try_lock(self._present, fcntl.LOCK_EX)
        fcntl.flock(self._present, fcntl.LOCK_SH)  # also a failed conversion loses the lock: flock(2)
        return only and self._arrivals == known

    def _open(self) -> None:
        try:
            self._folder = make_lock_folder()
            self._turn = open_lock(self._folder / "turn")
            try:
                self._present = open_lock(self._folder / "present")
            except OSError:
                os.close(self._turn)
                raise
        except FileNotFoundError:
            self._open()  # the last run has just taken the directory away
        except OSError as error:
            hint = f"set {VARIABLE} to a directory you own, the same for all your runs here"
            raise HostError(f"cannot take this machine's measurement lock: {error}", hint=hint) from error

    def _has_current_files(self) -> bool:
        try:
            there = [(self._folder / name).lstat() for name in ("turn", "present")]
        except FileNotFoundError:
            return False
        return all(map(os.path.samestat, there, map(os.fstat, (self._turn, self._present))))

    def _remove(self) -> None:
        with suppress(OSError):  # others may have put something beside them
            if self._has_current_files():
                (self._folder / "present").unlink()
                (self._folder / "turn").unlink()
                self._folder.rmdir()

    def _close(self) -> None:
        os.close(self._turn)
        os.close(self._present)
        self._turn = self._present = -1

    def _register_presence(self) -> None:
        if try_lock(self._present, fcntl.LOCK_EX):
            os.ftruncate(self._present, 0)
        fcntl.flock(self._present, fcntl.LOCK_SH)
        with suppress(OSError):  # on a full disk those who come and go in between are not noticed
            os.write(self._present, b".")
        self._arrivals = os.fstat(self._present).st_size

    def _write_owner(self) -> None:
        """Say to those who wait whose turn it is, and since when."""
        with suppress(OSError):  # on a full disk nobody can be told
            os.ftruncate(self._turn, 0)
            os.write(self._turn, f"{self._run} {account_name(os.getuid())} {time.time():.0f}".encode())

    async def _wait(self) -> bool:
        """Wait for the turn, unless this run is to be beside others; whether it is ours now."""
        who = describe_owner(self._turn)
        if self._parallel:
            self._observer.on_warning(f"{who}; trials are marked as disturbed")
            return False
        self._observer.on_warning(
            f"{who}; waiting for it to end (--beside runs at once and marks the trials)"
        )
        while not try_lock(self._turn, fcntl.LOCK_EX):  # noqa: ASYNC110 - the kernel tells nobody of a freed lock
            await asyncio.sleep(LOOK_EVERY)
        return True
