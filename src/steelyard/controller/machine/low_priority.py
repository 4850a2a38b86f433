"""Work that gives way to a run that measures."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from steelyard.controller.machine.lock_files import find_measuring_run

WORK, REST = 0.004, 0.05
"""Seconds of each in turn: 6 % of a core, where a tenth marks a trial (`evidence.disturbance`)."""


@contextmanager
def lower_priority() -> Iterator[str | None]:
    """Take no more of this machine than a trial bears while a run of ours measures here.

    Yields which run that is, None where none does, and then nothing is slowed down. The kernel gives us only
    what nobody else wants (SCHED_IDLE), and of that we take little, as idle cores share caches and clocks
    with busy ones.
    """
    run = find_measuring_run()
    if run is None:
        yield None
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    before = signal.signal(signal.SIGPROF, lambda *_: time.sleep(REST))
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        signal.setitimer(signal.ITIMER_PROF, WORK, WORK)
        yield run
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        os.sched_setscheduler(0, policy, parameters)
