"""A session that is to end by the clock, and one that no longer has to be told."""

from __future__ import annotations

import asyncio
import signal

import pytest

from steelyard.controller.signals import StopSignal


def in_a_loop(test):
    """A test that is a coroutine."""
    return lambda: asyncio.run(test())


async def rest() -> None:
    """Long enough for what is due at once."""
    for _ in range(10):
        await asyncio.sleep(0)


@in_a_loop
async def test_time_that_is_up_ends_it_once():
    stop = StopSignal(asyncio.current_task())
    stop.schedule(0)
    with pytest.raises(asyncio.CancelledError):
        await rest()
    asyncio.current_task().uncancel()
    assert stop.signal == signal.SIGUSR1
    stop.handle_signal(signal.SIGTERM)
    await rest()
    assert stop.signal == signal.SIGUSR1


@in_a_loop
async def test_what_ends_by_itself_is_not_ended():
    stop = StopSignal(asyncio.current_task())
    stop.schedule(0)
    stop.unschedule()
    stop.handle_signal(signal.SIGUSR1)
    await rest()
    assert stop.signal is None


@in_a_loop
async def test_without_an_end_the_warning_of_a_scheduler_is_heeded():
    stop = StopSignal(asyncio.current_task())
    stop.schedule(None)
    stop.unschedule()
    stop.handle_signal(signal.SIGUSR1)
    with pytest.raises(asyncio.CancelledError):
        await rest()
    asyncio.current_task().uncancel()
