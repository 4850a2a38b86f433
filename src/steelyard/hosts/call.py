"""Run a small program on the controller's own machine: a scheduler's command, bounded in time and output.

Not for what is measured or what lasts: those go through a host, whose minder lets nothing stay behind.

It does by hand what asyncio's subprocesses do with transports and a thread for each child: that takes a third
of a millisecond more, a tenth of a submission to Slurm.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from subprocess import PIPE
from typing import Self

from steelyard.errors import HostError

MOST_OUTPUT = 32 << 20  # bytes; 100,000 jobs in a scheduler's JSON


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program said. `code` is its exit code, 128 + n for a signal n, None when its time was up."""

    argv: tuple[str, ...]
    code: int | None
    stdout: str
    stderr: str

    @property
    def has_failed(self) -> bool:
        """Whether it ended otherwise than with 0."""
        return self.code != 0

    @property
    def complaint(self) -> str:
        """Its own words on what went wrong, shortened; how it ended where it said nothing."""
        if self.code is None:
            return "it did not answer in time"
        said = " ".join((self.stderr.strip() or self.stdout.strip()).split())
        return said[:500] or f"it exited with code {self.code} and printed nothing"


class MissingProgram(HostError):
    """A program of the controller's machine is not on PATH, or may not be started."""


async def call(
    argv: Sequence[str],
    *,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float = 30.0,
    most: int = MOST_OUTPUT,
) -> Answer:
    """Run a program to its end, at most so many seconds; then it is killed with all that it started.

    `env` is its whole environment, by default ours. Output beyond `most` bytes is a HostError, since half an
    answer must not be taken for a whole one. Raises MissingProgram.
    """
    with _start(argv, stdin, env) as process, _Output(process, most) as output:
        try:
            async with asyncio.timeout(seconds):
                await output.ended.wait()
                if output.size > most:
                    raise HostError(
                        f"{argv[0]} printed more than {most} bytes; is it the scheduler's own command?"
                    )
                await _wait_for_end(process)
        except TimeoutError:
            return Answer(tuple(argv), None, "", "")
        finally:
            await _kill_session(process)
        code = process.returncode
        return Answer(tuple(argv), code if code >= 0 else 128 - code, *output.texts)


def _start(argv: Sequence[str], stdin: str | None, env: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    try:
        with FileIO(os.memfd_create("stdin"), "w+") as given:  # a file needs no feeding
            os.pwrite(given.fileno(), (stdin or "").encode(), 0)
            return subprocess.Popen(
                argv, stdin=given, stdout=PIPE, stderr=PIPE, bufsize=0, env=env, start_new_session=True
            )
    except (FileNotFoundError, PermissionError) as error:
        path = (env or os.environ).get("PATH", "")
        hint = f"is the scheduler's client installed here, and on PATH ({path})?"
        raise MissingProgram(f"cannot run {shlex.quote(argv[0])}: {error.strerror}", hint=hint) from error


class _Output:
    """What a program prints, read as it comes until both streams end, or it is more than allowed."""

    def __init__(self, process: subprocess.Popen[bytes], most: int) -> None:
        self._most, self._loop, self.ended = most, asyncio.get_running_loop(), asyncio.Event()
        self._read = {pipe.fileno(): bytearray() for pipe in (process.stdout, process.stderr) if pipe}
        self._open = set(self._read)
        for pipe in self._open:
            self._loop.add_reader(pipe, self._read_more, pipe)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._open:
            self._loop.remove_reader(pipe)

    @property
    def size(self) -> int:
        """In bytes, of both."""
        return sum(map(len, self._read.values()))

    @property
    def texts(self) -> list[str]:
        """Standard output, standard error."""
        return [text.decode(errors="replace") for text in self._read.values()]

    def _read_more(self, pipe: int) -> None:
        if text := os.read(pipe, 1 << 16):
            self._read[pipe] += text
        else:
            self._loop.remove_reader(pipe)
            self._open.discard(pipe)
        if not self._open or self.size > self._most:
            self.ended.set()


async def _wait_for_end(process: subprocess.Popen[bytes]) -> None:
    """Returns when it has ended; mostly it has when its streams have."""
    if process.poll() is not None:
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    pidfd = os.pidfd_open(process.pid)
    loop.add_reader(pidfd, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)
    process.wait()


async def _kill_session(process: subprocess.Popen[bytes]) -> None:
    """Nothing of it stays: it leads a session of its own, so that this ends what it started, too."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)  # it has its number until somebody waited for it
        await asyncio.shield(_wait_for_end(process))
