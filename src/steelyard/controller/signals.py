"""Signals that mean "stop in good order"."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


class Stop:
    """Which signal came; None as long as none did."""

    signal: signal.Signals | None = None


@contextmanager
def interruptible() -> Iterator[Stop]:
    """Turn the signals that mean "stop" into a cancellation of this task, once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is None:
        raise RuntimeError("no task to interrupt")
    found = Stop()

    def stop(number: signal.Signals) -> None:
        if found.signal is None:
            found.signal = number
            task.cancel()

    try:
        for number in SIGNALS:
            loop.add_signal_handler(number, stop, number)
    except (ValueError, RuntimeError):
        pass  # not the main thread, as in some notebooks; there the notebook interrupts
    try:
        yield found
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
