"""Run a coroutine to its end, also from a notebook, in which an event loop runs already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


def complete(work: Coroutine[Any, Any, T]) -> T:
    """What comes of it at its end; in a thread of its own where this thread has a running loop.

    There an interrupt of the notebook (KeyboardInterrupt) cancels the work, and waits for it to clean up.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _start_thread(work)


def _start_thread(work: Coroutine[Any, Any, T]) -> T:
    task: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = Future()
    ended: Future[T] = Future()
    threading.Thread(target=_run_in_thread, args=(work, task, ended), name="steelyard").start()
    loop, running = task.result()
    try:
        return ended.result()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(running.cancel)
        return ended.result()


def _run_in_thread(work: Coroutine[Any, Any, T], task: Future[Any], ended: Future[T]) -> None:
    async def announce() -> T:
        task.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    try:
        result = asyncio.run(announce())
    except BaseException as error:
        ended.set_exception(error)
    else:
        ended.set_result(result)
