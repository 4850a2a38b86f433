"""Signals that mean "stop in good order"."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

TIME_IS_SHORT = (signal.SIGUSR1, signal.SIGUSR2)
"""Of schedulers: our warning before the time limit, and LSF's own at it, minutes before it kills."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, *TIME_IS_SHORT)


class StopSignal:
    """Ends a task, once. `signal` is what it was ended by; None as long as it was not."""

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self.signal: signal.Signals | None = None
        self._task = task
        self._timer: asyncio.TimerHandle | None = None

    def schedule(self, left: float | None) -> None:
        """End it in so many seconds, as a scheduler's warning would.

        From then on that warning is not heeded: it may come a minute early, which can be all that there is.
        """
        if left is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, left), self._stop, signal.SIGUSR1)

    def unschedule(self) -> None:
        """Let it go on: what is left to do ends by itself."""
        if self._timer:
            self._timer.cancel()

    def handle_signal(self, number: signal.Signals) -> None:
        """A signal came."""
        if not (self._timer and number == signal.SIGUSR1):
            self._stop(number)

    async def wait_for_signal(self, within: float) -> bool:
        """Whether it has been ended, or is so within seconds."""
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(within if self.signal is None else 0)
        return self.signal is not None

    def _stop(self, number: signal.Signals) -> None:
        if self.signal is None:
            self.signal = number
            self._task.cancel()


@contextmanager
def catch_signals() -> Iterator[StopSignal]:
    """Turn the signals that mean "stop" into a cancellation of this task, once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is None:
        raise RuntimeError("no task to interrupt")
    stop = StopSignal(task)
    with suppress(
        ValueError, RuntimeError
    ):  # not the main thread, as in notebooks, which interrupt themselves
        for number in SIGNALS:
            loop.add_signal_handler(number, stop.handle_signal, number)
    try:
        yield stop
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
