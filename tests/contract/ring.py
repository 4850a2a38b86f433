"""A ring of Cassandra on loopback addresses, for tests of what talks to one; its service deploys it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loading import loaded
from steelyard.model.command import Endpoint

SMALL = {"heap": "256MiB", "jvm": ["-XX:TieredStopAtLevel=1"]}  # a quick start counts here, not speed

services = loaded(Path(__file__).with_name("test_services.py"))


@contextmanager
def ring(nodes: int = 1, **options: Any) -> Iterator[Endpoint]:
    """One for as long as the block lasts. Skips where Cassandra is missing."""
    services.needed("cassandra")
    ready: Future[Endpoint] = Future()
    ended = threading.Event()
    thread = threading.Thread(target=_deploy, args=(nodes, {**SMALL, **options}, ready, ended))
    thread.start()
    try:
        yield ready.result()
    finally:
        ended.set()
        thread.join()


def _deploy(nodes: int, options: dict[str, Any], ready: Future[Endpoint], ended: threading.Event) -> None:
    async def run() -> None:
        async with services.bench(nodes) as made:
            service = made.service("cassandra", options, hosts=made.hosts[:nodes])
            async with service.deploy() as endpoint:
                ready.set_result(endpoint)
                await asyncio.to_thread(ended.wait)

    try:
        asyncio.run(run())
    except BaseException as error:
        if ready.done():
            raise
        ready.set_exception(error)
