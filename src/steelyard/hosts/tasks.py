"""Several things done at the same time, none of which outlives the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


@asynccontextmanager
async def run_tasks(*work: Coroutine[Any, Any, T]) -> AsyncIterator[tuple[asyncio.Task[T], ...]]:
    """A task for each, in order; what still runs when the block ends is cancelled and waited for.

    What one raises is raised where it is awaited in the block, and nowhere else.
    """
    running = tuple(asyncio.create_task(each) for each in work)
    try:
        yield running
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def wait_first(running: tuple[asyncio.Task[T], ...]) -> asyncio.Task[T]:
    """The first of them that is done, the earliest in order where several are."""
    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    return next(task for task in running if task.done())


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Do it whole, however often it is cancelled meanwhile; the cancellation takes effect afterwards."""
    task, cancelled = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    result = task.result()
    if cancelled:
        raise asyncio.CancelledError
    return result
