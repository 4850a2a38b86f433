"""Viewers of a stream of events, as connections of our own that note how late each event came."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from typing import NamedTuple

from bench.process import NotMeasured
from bench.served import EVERY, TOKEN
from bench.serving import Server
from steelyard.testing.patience import comes

_LONGEST = 60.0  # s, that late events are waited for
_STAMP = re.compile(rb"(?:^data: |stamp )(\d+\.\d+)")


class Followed(NamedTuple):
    """How late each viewer got each event, in seconds; the share of a core that the server took."""

    delays: list[float]
    cpu: float


def follow(server: Server, path: str, viewers: int, events: Iterator[None]) -> Followed:
    """Let so many follow a stream while `events` come, and until half of them came.

    Raises NotMeasured where those never come.
    """
    return asyncio.run(_follow(server, path, viewers, events))


async def _follow(server: Server, path: str, viewers: int, events: Iterator[None]) -> Followed:
    delays: list[float] = []
    readies = [asyncio.Event() for _ in range(viewers)]
    tasks = [asyncio.create_task(_view(server.port, path, delays, ready)) for ready in readies]
    try:
        await asyncio.gather(*(ready.wait() for ready in readies))
        await asyncio.sleep(1)
        delays.clear()
        before, began, count = server.cpu, time.perf_counter(), 0
        for _ in events:
            count += 1
            await asyncio.sleep(EVERY)
        cpu = (server.cpu - before) / (time.perf_counter() - began)
        # Events that are late are late, not lost: a busy machine may send none for seconds.
        half = viewers * count / 2
        await comes(lambda: len(delays) >= half or all(task.done() for task in tasks), _LONGEST)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if len(delays) < half:
        raise NotMeasured(f"{len(delays)} of {viewers * count} events came")
    return Followed(delays, cpu)


async def _view(port: int, path: str, delays: list[float], ready: asyncio.Event) -> None:
    """Read until cancelled or at the end; ready once there was an event."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    try:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        writer.write(head.encode())
        while line := await reader.readline():
            now = time.time()
            if line.startswith(b"data:"):
                ready.set()
                if stamp := _STAMP.search(line):
                    delays.append(now - float(stamp[1]))
    finally:
        ready.set()  # also without an event, which is told by their number
        writer.close()
