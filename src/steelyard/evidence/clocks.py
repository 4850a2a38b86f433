"""Was a clock stepped, or the machine suspended, during a trial?

Durations of tools and the common start rest on the clocks: a step of the wall clock or a suspend makes
figures wrong without any load that could be seen.

Sources: clock_gettime(2); adjtimex(2); the kernel's kernel/time/timekeeping.c: CLOCK_REALTIME,
CLOCK_MONOTONIC and CLOCK_BOOTTIME are one clock with three offsets. What NTP slews, all three follow, so
REALTIME less BOOTTIME changes only when the wall clock is set, and BOOTTIME less MONOTONIC only when the
machine sleeps.
"""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.hosts.clocks import Clocks
from steelyard.model.metric import Mark

SLEW = 0.0005
"""500 ppm, the fastest that the kernel slews: daemons that correct in many small steps keep to it, too."""
DOUBT = 0.005
"""Seconds that two readings may differ for no reason of the clocks', beyond the doubt they state."""


def judge_clocks(before: Clocks | None, after: Clocks | None) -> tuple[Mark, ...]:
    """How the clocks of a host disturbed what lay between two readings; nothing where it does not tell."""
    if before is None or after is None:
        return ()
    return (*_find_steps(before, after), *_find_suspends(before, after))


def _find_steps(before: Clocks, after: Clocks) -> Iterator[Mark]:
    lasted = after.boot - before.boot
    step = after.wall - before.wall - lasted
    if abs(step) > _clock_uncertainty(before, after) + SLEW * max(lasted, 0.0):
        reason = f"the clock was stepped by {step:+.2f} s during the trial"
        yield Mark("disturbed", reason, "a step of the clock", abs(step), "s")


def _find_suspends(before: Clocks, after: Clocks) -> Iterator[Mark]:
    """How long is known where both clocks can be read, that it happened where the kernel counts it."""
    if before.awake is not None and after.awake is not None:
        asleep = after.boot - before.boot - (after.awake - before.awake)
        if asleep > _clock_uncertainty(before, after):
            reason = f"the machine was suspended for {asleep:.2f} s during the trial"
            yield Mark("disturbed", reason, "a suspend", asleep, "s")
    elif (after.suspends or 0) > (before.suspends or 0):
        yield Mark("disturbed", "the machine was suspended during the trial", "a suspend")


def _clock_uncertainty(before: Clocks, after: Clocks) -> float:
    return DOUBT + before.uncertainty + after.uncertainty
