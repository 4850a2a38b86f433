"""Cassandra that knows when it was done with what: what of its launch is Steelyard's own part; and one whose
nodes talk in the clear, which no experiment can ask for."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

from bench.process import read_cpu
from steelyard.hosts.base import Host
from steelyard.hosts.sweep import find_bearers
from steelyard.services.cassandra import Cassandra
from steelyard.services.kit.server import Server

_WATCH = b"steelyard.cassandra.Watch"


class TimedCassandra(Cassandra):
    """As `cassandra`. `moments` are on the monotonic clock, in seconds."""

    moments: dict[str, float]
    watched: float

    async def configure(self) -> None:
        """Before it, and after it."""
        self.moments = {"context": time.monotonic()}
        await super().configure()
        self.moments["configure"] = time.monotonic()

    async def _start(self, host: Host) -> Server:
        server = await super()._start(host)
        self.moments.setdefault("first", time.monotonic())
        return server

    async def _wait_until_answering(self, server: Server) -> None:
        await super()._wait_until_answering(server)
        self.moments["whole"] = time.monotonic()

    async def ready(self) -> None:
        """What the program that watches took until now, too."""
        await super().ready()
        self.watched = _watch_seconds()

    def parts(self, began: float, ended: float) -> dict[str, float]:
        """Seconds of our own part of a launch, and of its steps; `watch` is CPU time."""
        moments = self.moments
        return {
            "context": moments["context"] - began,
            "configure": moments["configure"] - moments["context"],
            "own": (moments["first"] - began) + (ended - moments["whole"]),
            "watch": self.watched,
        }


class PlainCassandra(TimedCassandra):
    """As if nodes trusted each other; they are managed by TLS all the same."""

    async def run_script(self, host: Host, label: str, script: str, **env: str) -> str:
        """Their configuration is another."""
        if "YAML" in env:
            in_the_clear = {"server_encryption_options": {"internode_encryption": "none"}}
            env["YAML"] = json.dumps({**json.loads(env["YAML"]), **in_the_clear})
        return await super().run_script(host, label, script, **env)


def _watch_seconds() -> float:
    """CPU seconds of the Java that watches the ring."""
    for bearer in find_bearers(lambda token: token.run == "bench"):
        place = Path(f"/proc/{bearer.pid}")
        with suppress(OSError):  # one of our small programs, which has just ended
            if _WATCH in (place / "cmdline").read_bytes():
                return read_cpu(bearer.pid)
    return 0.0
