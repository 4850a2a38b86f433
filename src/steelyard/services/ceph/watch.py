"""What a cluster of Ceph says of itself, and how it is told something: by a program on the monitors' hosts.

The command `ceph` takes half a second of a core for each question. So on each monitor's host a small process
keeps a connection to the cluster, asks four times a second, and writes what it hears to a file, which costs
little to read. There are several, as one may be cut off.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from steelyard.plugin import Command, HostError
from steelyard.plugin.host import Host, run_short_program
from steelyard.services.ceph.conf import CONF, CONTROL
from steelyard.services.ceph.pools import Words
from steelyard.services.ceph.status import CephStatus, parse_status
from steelyard.services.kit.data import DataDirectory
from steelyard.services.kit.server import Server

SCRIPT = Path(__file__).with_name("control.py")
_FRESH = 0.1  # seconds for which what was read holds
_TAKES = 60.0  # seconds that the monitors may take for what they are told
_READ_WITHIN = 3.0
# `ceph` is a program of the Python that has its libraries.
_PYTHON = """python=$(sed -n '1s/^#! *//p' "$(command -v ceph)")
exec ${python:-python3} -B -X faulthandler "$@"
"""
_READ = 'date +%s.%N; cat "$1" 2>/dev/null || :'


class CephWatch:
    """Watches a cluster from these hosts. `confs` and `data`: where each has its files, by its name."""

    def __init__(
        self,
        hosts: Iterable[Host],
        confs: dict[str, PurePosixPath],
        data: dict[str, DataDirectory],
        logs: Path,
    ) -> None:
        self._hosts, self._confs, self._data, self._logs = tuple(hosts), confs, data, logs
        self._servers: list[Server] = []
        self._read: tuple[float, CephStatus] = (-1.0, CephStatus())
        self._lock = asyncio.Lock()

    async def start(self) -> None:
        """Begin to ask."""
        self._servers = list(await asyncio.gather(*map(self._start, self._hosts)))

    async def stop(self) -> None:
        """End it."""
        await asyncio.gather(*(server.kill() for server in self._servers))

    async def read_status(self) -> CephStatus:
        """What the monitors said last, to whichever host heard it last."""
        async with self._lock:
            if time.monotonic() - self._read[0] > _FRESH:
                answers = await asyncio.gather(*map(self._fetch, self._hosts), return_exceptions=True)
                statuses = [parse_status(text) for text in answers if isinstance(text, str)]
                newest = min(statuses, key=lambda status: status.age, default=CephStatus())
                self._read = (time.monotonic(), newest)
        return self._read[1]

    def describe_end(self) -> str:
        """How it ended on a host where it did, for a message; empty where it runs on all."""
        for server in self._servers:
            if server.exit is not None:
                what = f"the monitor program on {server.host.name} ended {server.exit.way}"
                return f"; {what}; {server.describe_log()}"
        return ""

    async def tell(self, label: str, commands: Iterable[Words], seconds: float = _TAKES) -> None:
        """Have the monitors do something, in order. Raises HostError with their reason."""
        text = "".join(json.dumps(command) + "\n" for command in commands)
        await self.run(self._hosts[0], label, "run", stdin=text, seconds=seconds)

    async def run(
        self, host: Host, label: str, *words: str, stdin: str | None = None, seconds: float = _TAKES
    ) -> str:
        """What the program prints on a host that has its files. Raises HostError."""
        command = self._command(host, *words, stdin=stdin)
        place = self._confs[host.name]
        return await run_short_program(
            host, command, cwd=place, logs=self._logs, label=label, seconds=seconds
        )

    def _command(self, host: Host, *words: str, stdin: str | None = None) -> Command:
        place = self._confs[host.name]
        argv = ("sh", "-c", _PYTHON, "sh", str(place / CONTROL), str(place / CONF), *words)
        command = self._data[host.name].account_command(*argv)
        return Command(command.argv, command.env, stdin=stdin)

    async def _start(self, host: Host) -> Server:
        command = self._command(host, "watch", str(self._path(host)))
        return await Server.start(
            host,
            "cluster",
            command,
            cwd=self._confs[host.name],
            logs=self._logs,
            address=host.address,
            port=0,
        )

    async def _fetch(self, host: Host) -> str:
        # As the daemons' user, who may have put a link there.
        command = self._data[host.name].account_command("sh", "-c", _READ, "sh", str(self._path(host)))
        said = await host.capture(command.argv, seconds=_READ_WITHIN)
        if said is None:
            raise HostError(f"{host.name} does not tell what its monitor says")
        return said

    def _path(self, host: Host) -> PurePosixPath:
        return self._data[host.name].path / "state.json"
