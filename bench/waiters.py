"""Bare waiters: programs that wait for an instant and begin, with nothing of Steelyard around them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.process import NotMeasured, compile_c

SOURCE = Path(__file__).with_name("waiter.c")
AHEAD = 0.25  # seconds until their instant, which is more than starting 16 takes
LONGEST = 30.0
SHELLS = """
bash --norc -c 'exec 9<> <(:); read -r -t "$0" -u 9; echo "$EPOCHREALTIME"' "$1" >/dev/null
exec "$0"
"""

Kind = Callable[[Path, int], tuple[str, ...]]
"""The command of a waiter: the compiled program, the instant in ns."""


def compiled(folder: Path) -> Path:
    """`waiter.c` as a program: with an instant a waiter, without one what prints when it began.

    Raises NotMeasured where there is no C compiler.
    """
    return compile_c(SOURCE, folder / "waiter")


def in_c(waiter: Path, at: int) -> tuple[str, ...]:
    """The least there is: one sleep until the instant, one exec."""
    return (str(waiter), str(at))


def in_sh(waiter: Path, at: int) -> tuple[str, ...]:
    """The least that a shell can do that also tells when it opened: sh waits for bash, which has a clock.

    A bare `sleep` ends sooner than a bash, by a tenth of what 16 take on two cores, but tells nothing.
    """
    return ("sh", "-c", SHELLS, str(waiter), f"{(at - time.time_ns()) / 1e9:.6f}")


def bare_skew(kind: Kind, waiter: Path, count: int) -> float:
    """Seconds from the first to the last start of so many waiters for the same instant."""
    at = time.time_ns() + round(AHEAD * 1e9)
    waiting: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            process = subprocess.Popen(kind(waiter, at), stdout=subprocess.PIPE)
            waiting.append(process)  # at once, so that it is ended whatever happens
        if time.time_ns() > at:
            raise NotMeasured(f"{count} bare waiters could not be started within {AHEAD:g} s")
        return spread([int(process.communicate(timeout=LONGEST)[0]) for process in waiting])
    finally:
        for process in waiting:
            process.kill()
            process.communicate()  # its pipe, too, is closed


def spread(instants: Sequence[int]) -> float:
    """Seconds from the first to the last of some instants in ns."""
    return (max(instants) - min(instants)) / 1e9
