"""What runs on a worker: the job's script, ended at its limit or when somebody asks, with notes on it."""

from __future__ import annotations

import os
import select
import signal
import time
from pathlib import Path

from .notes import Notes

HOST = "STEELYARD_HYPERQUEUE_HOST"
"""The variable in which a job finds the name of its host."""

LOOK_EVERY, GRACE = 0.5, 30.0
"""Seconds between two looks whether a script is to be ended, and those that it has to end in good order."""
NEVER_RAN = 125


class Task:
    """A script in our process group, which HyperQueue ends as a whole.

    It may run for `seconds`, and is warned by SIGUSR1 `warning` seconds before.
    """

    def __init__(self, notes: Path, seconds: float, warning: float) -> None:
        self._notes, self._seconds, self._warning = Notes(notes, os.environ["HQ_JOB_ID"]), seconds, warning
        self._worker, self._host, self._started = os.getppid(), os.uname().nodename, time.time()
        self._end = time.monotonic() + seconds
        self._cause = ""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._hear)

    def run(self, shell: list[str], output: str) -> int:
        """Its exit code, 128 + n for a signal n; what we end, ends us, too."""
        _append_to(output)
        self._notes.prepare()
        if self._notes.is_cancelled:
            return NEVER_RAN
        self._note()
        pid = os.posix_spawnp(shell[0], shell, {**os.environ, HOST: self._host})
        ended = os.pidfd_open(pid)
        self._watch(pid, ended)
        if self._cause:
            self._end_group(ended)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return code if code >= 0 else 128 - code

    def _hear(self, number: int, frame: object) -> None:
        """The worker has ended, of which the kernel tells us, or ends us."""
        self._cause = self._cause or ("cancelled" if os.getppid() == self._worker else "worker")

    def _note(self) -> None:
        self._notes.write(host=self._host, started=self._started, limit=self._seconds, cause=self._cause)

    def _watch(self, pid: int, ended: int) -> None:
        """Return when the script has ended, or there is a cause to end it."""
        warned = False
        while not self._cause and not _is_readable(ended, LOOK_EVERY):
            left = self._end - time.monotonic()
            if not warned and left <= self._warning:
                os.kill(pid, signal.SIGUSR1)
                warned = True
            if self._notes.is_cancelled:
                self._cause = "cancelled"
            elif left <= 0:
                self._cause = "limit"

    def _end_group(self, ended: int) -> None:
        self._note()
        os.killpg(0, signal.SIGTERM)
        _is_readable(ended, GRACE)
        os.killpg(0, signal.SIGKILL)


def _append_to(output: str) -> None:
    """Both streams, as HyperQueue would empty the file first."""
    opened = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.dup2(opened, 1)
    os.dup2(opened, 2)
    os.close(opened)


def _is_readable(descriptor: int, seconds: float) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])
