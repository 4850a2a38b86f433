"""A program of the user's with all that it starts, and how to wait for what it does."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable

from steelyard.workloads.checkpoint.program.faults import CheckpointFault

STANDARD_ERROR = 2  # standard output is the verifier's
LOOK = 0.001  # seconds between two looks at a file: how exact the times are


class UserProcess:
    """A new process in a session of its own, so that what it starts ends with it. Raises CheckpointFault."""

    def __init__(self, words: list[str]) -> None:
        self._name, self._is_over = words[0], False
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=STANDARD_ERROR, start_new_session=True
            )
        except OSError as error:
            raise CheckpointFault(f"cannot start {self._name}: {error.strerror}") from error

    def send(self, name: str) -> None:
        """A signal, as `USR1`, to the process alone."""
        self._process.send_signal(getattr(signal, f"SIG{name}"))

    def wait_until(self, is_so: Callable[[], bool], what: str) -> None:
        """Raises CheckpointFault when it ends before."""
        while not is_so():
            status = self._process.poll()
            if status is not None and not is_so():
                raise CheckpointFault(
                    f"{self._name} ended with {status} before the file of `{what}` was there"
                )
            time.sleep(LOOK)

    def kill(self) -> None:
        """As a crash, with all that it started. Raises CheckpointFault if it had ended before."""
        status = self._process.poll()
        self.end()
        if status is not None:
            raise CheckpointFault(f"{self._name} ended with {status} before it was killed")

    def end(self) -> None:
        """Leave nothing of it."""
        if self._is_over:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._is_over = True


def run_command(words: list[str]) -> str:
    """What a command prints. Raises CheckpointFault unless it ends with 0."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise CheckpointFault(f"cannot start {words[0]}: {error.strerror}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-400:]
        raise CheckpointFault(f"{words[0]} ended with {done.returncode}; {said or 'it printed nothing'}")
    return done.stdout.decode(errors="replace")
