"""Run a coroutine to its end, also from a notebook, in which an event loop runs already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any


def complete(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end; in a thread of its own where this thread has a running loop.

    There an interrupt of the notebook (KeyboardInterrupt) cancels the work, and waits for it to clean up.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    _in_thread(work)


def _in_thread(work: Coroutine[Any, Any, None]) -> None:
    task: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = Future()
    ended: Future[None] = Future()
    threading.Thread(target=_thread, args=(work, task, ended), name="steelyard").start()
    loop, running = task.result()
    try:
        ended.result()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(running.cancel)
        ended.result()


def _thread(work: Coroutine[Any, Any, None], task: Future[Any], ended: Future[None]) -> None:
    async def told() -> None:
        task.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        await work

    try:
        asyncio.run(told())
    except BaseException as error:
        ended.set_exception(error)
    else:
        ended.set_result(None)
