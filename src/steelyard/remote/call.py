"""Run a small program on the controller's own machine: a scheduler's command, bounded in time and output.

Not for what is measured or what lasts: those go through a host, whose minder lets nothing stay behind.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

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
    def failed(self) -> bool:
        """Whether it ended otherwise than with 0."""
        return self.code != 0

    @property
    def complaint(self) -> str:
        """Its own words on what went wrong, shortened; how it ended where it said nothing."""
        if self.code is None:
            return "it did not answer in time"
        said = " ".join((self.stderr.strip() or self.stdout.strip()).split())
        return said[:500] or f"it ended with code {self.code} and said nothing"


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
    process = await _started(argv, stdin is not None, env)
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate(stdin.encode() if stdin is not None else None)
    except TimeoutError:
        return Answer(tuple(argv), None, "", "")
    finally:
        await _ended(process)
    if len(out) + len(err) > most:
        raise HostError(f"{argv[0]} printed more than {most} bytes; is it the scheduler's own command?")
    code = process.returncode or 0
    texts = (text.decode(errors="replace") for text in (out, err))
    return Answer(tuple(argv), code if code >= 0 else 128 - code, *texts)


async def _started(
    argv: Sequence[str], fed: bool, env: Mapping[str, str] | None
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *argv, stdin=PIPE if fed else DEVNULL, stdout=PIPE, stderr=PIPE, env=env, start_new_session=True
        )
    except (FileNotFoundError, PermissionError) as error:
        path = (env or os.environ).get("PATH", "")
        hint = f"is the scheduler's client installed here, and on PATH ({path})?"
        raise MissingProgram(f"cannot run {shlex.quote(argv[0])}: {error.strerror}", hint=hint) from error


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Nothing of it stays: it leads a session of its own, so that this ends what it started, too."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())
