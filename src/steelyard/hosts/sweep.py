"""Find processes that bear the token of a run, and end those whose controller is dead.

The minder ends everything by itself. This is for the case that it was killed too.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import HostError
from steelyard.hosts.minder import TOKEN_VARIABLE
from steelyard.hosts.minder.processes import (
    find_variable,
    kill_all,
    list_pids,
    read_environment,
    read_process,
)
from steelyard.hosts.token import Token
from steelyard.hosts.unused.accounts import is_unnamed

PATIENCE = 5.0
PAUSE = 0.005
UNENDING = "Processes in uninterruptible sleep (state D in ps) wait for a device or file server."


@dataclass(frozen=True, slots=True)
class Bearer:
    """A process with a token in its environment; `start_time` is in clock ticks since boot."""

    pid: int
    start_time: int
    token: Token


class SweepError(HostError):
    """Processes of a dead run could not be ended; `left` are they."""

    def __init__(self, left: list[Bearer]) -> None:
        self.left = left
        listed = ", ".join(str(bearer.pid) for bearer in left)
        super().__init__(
            f"{len(left)} processes of run {left[0].token.run} do not end: pid {listed}",
            hint=UNENDING,
        )


def sweep(*, run: str | None = None) -> int:
    """End all processes that bear the token of a dead run, or of this run if it is dead; return how many.

    A run that is alive, or was started among other pids (in another container), is left alone.
    Raises SweepError when some do not end.
    """
    return end_bearers(lambda token: run in (None, token.run) and token.is_dead())


def end_bearers(predicate: Callable[[Token], bool], *, patience: float = PATIENCE) -> int:
    """End all processes with a token that satisfies the predicate, again until none is left; return how many.

    Never ends this process or one above it. Raises SweepError after `patience` seconds.
    """
    spared, ended = _own_ancestors(), set[Bearer]()

    def look() -> set[Bearer]:
        return {bearer for bearer in find_bearers(predicate) if bearer.pid not in spared}

    deadline = time.monotonic() + patience
    while left := look():
        if time.monotonic() > deadline:
            raise SweepError(sorted(left, key=lambda bearer: bearer.pid))
        ended |= kill_all(look, _send)
        time.sleep(PAUSE)
    return len(ended)


def find_bearers(predicate: Callable[[Token], bool]) -> list[Bearer]:
    """Return all processes of this user with a token that satisfies the predicate.

    For root those of its servers, too, which run under ids that no account has. Another account may bear what
    it likes in its environment: no sweep waits for its end.
    """
    candidates = (_read_bearer(pid) for pid in list_pids() if _is_ours(pid))
    return [bearer for bearer in candidates if bearer and predicate(bearer.token)]


def _read_bearer(pid: int) -> Bearer | None:
    # The start time is read first: should the pid go to another process in between, the two cannot match.
    entry = read_process(pid)
    token = Token.from_text(find_variable(read_environment(pid), TOKEN_VARIABLE) or "")
    return Bearer(pid, entry.start, token) if entry and token else None


def _is_ours(pid: int) -> bool:
    try:
        owner = Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return False
    return owner == os.geteuid() or (os.geteuid() == 0 and is_unnamed(owner))


def _send(bearer: Bearer, number: int) -> bool:
    """Signal a bearer, and never a process that got its pid later; False when it is gone."""
    try:
        pidfd = os.pidfd_open(bearer.pid)
    except ProcessLookupError:
        return False
    try:
        entry = read_process(bearer.pid)
        if entry is None or entry.start != bearer.start_time:
            return False
        signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(pidfd)
    return True


def _own_ancestors() -> set[int]:
    line: set[int] = set()
    entry = read_process(os.getpid())
    while entry:
        line.add(entry.pid)
        entry = read_process(entry.parent)
    return line
