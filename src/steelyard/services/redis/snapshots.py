"""Keep the data of Redis servers as they are at one moment, and bring them back.

Every primary forks and writes its dump (BGSAVE); the moment is that of the fork. To bring a dump back its
server is started again on it, as Redis reads a dump only then. Replicas follow their primary by themselves.
**Source**: https://redis.io/docs, "Redis persistence".
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.plugin import Command, HostError
from steelyard.plugin.host import Host
from steelyard.plugin.service import REFUSED_HINT, Runner, Snapshot, SnapshotNode
from steelyard.services.kit.capabilities import Vaults
from steelyard.services.kit.data import DataDirectory
from steelyard.services.kit.server import Server

_TABLE, _DUMP = "keys", "dump.rdb"
# In the directory of its data a server may have put links: what root does there, it does as the server's
# user.
_KEEP = 'mkdir -p "$1"; from=$2 to=$1/dump.rdb; shift 2; "$@" cat "$from" > "$to"'
_LAY = 'from=$1 to=$2; shift 2; "$@" sh -eu -c \'cat > "$1.new"; mv "$1.new" "$1"\' sh "$to" < "$from"'


@dataclass(frozen=True)
class RedisPrimaries:
    """The servers that hold the data. `ask` puts a question to one, `restart` starts one once more."""

    servers: Sequence[Server]
    data: Mapping[str, DataDirectory]
    make_runner: Callable[[Host, str], Runner]
    ask: Callable[[Server, str], Awaitable[str]]
    restart: Callable[[Server], Awaitable[None]]
    timeout: float

    async def take_snapshot(self, vaults: Vaults, name: str) -> Snapshot:
        """Their data, all at one moment."""
        began, taken = time.monotonic(), time.time()
        moments = await asyncio.gather(*map(self._freeze, self.servers))
        frozen = time.monotonic()
        nodes = await asyncio.gather(*(self._copy(server, vaults, name) for server in self.servers))
        version = await self._read_field(self.servers[0], "server", "redis_version")
        return Snapshot(
            name=name,
            service="redis",
            version=version,
            taken=taken,
            nodes=tuple(node for node, _ in nodes),
            steps={"freeze": frozen - began, "copy": time.monotonic() - frozen},
            spread=max(end for _, end in moments) - min(start for start, _ in moments),
            copied=sum(copied for _, copied in nodes),
        )

    async def recover_snapshot(self, vaults: Vaults, snapshot: Snapshot) -> Mapping[str, float]:
        """They have the data of a snapshot of as many; all dumps are there before any server is ended."""
        self._check_snapshot(snapshot)
        pairs = list(zip(self.servers, snapshot.nodes, strict=True))
        began = time.monotonic()
        await asyncio.gather(*(self._fetch(server, vaults, node) for server, node in pairs))
        fetched = time.monotonic()
        await asyncio.gather(*(self._restart_from_dump(server) for server, _ in pairs))
        return {"copy": fetched - began, "import": time.monotonic() - fetched}

    def _check_snapshot(self, snapshot: Snapshot) -> None:
        """Raises HostError where it has not one dump for each server."""
        there, here = len(snapshot.nodes), len(self.servers)
        if there != here:
            raise HostError(
                f"snapshot {snapshot.name} has the data of {there} servers, but there are {here} here"
            )
        for node in snapshot.nodes:
            if [file.path for file in node.files] != [_DUMP]:
                what = f"snapshot {snapshot.name} was rejected, and nothing was recovered"
                raise HostError(f"{what}: node {node.host} has files other than {_DUMP}", hint=REFUSED_HINT)

    async def _freeze(self, server: Server) -> tuple[float, float]:
        """When the fork was asked for, and when it was done; returns once the dump is written."""
        began = time.monotonic()
        if "started" not in (said := await self.ask(server, "bgsave")):
            raise HostError(
                f"redis on {server.host.name} did not start a dump: {said.strip() or 'no answer'}"
            )
        forked = time.monotonic()
        async with asyncio.timeout(self.timeout):
            await self._wait_until_written(server)
        if (status := await self._read_field(server, "persistence", "rdb_last_bgsave_status")) != "ok":
            raise HostError(f"redis on {server.host.name} could not write its dump: {status}")
        return began, forked

    async def _wait_until_written(self, server: Server) -> None:
        while True:
            if await self._read_field(server, "persistence", "rdb_bgsave_in_progress") == "0":
                return
            await asyncio.sleep(0.02)

    async def _copy(self, server: Server, vaults: Vaults, name: str) -> tuple[SnapshotNode, int]:
        host = server.host
        place = server.cwd / "kept" / name
        data = self.data[host.name]
        words = ("sh", "-eu", "-c", _KEEP, "sh", str(place), str(data.path / _DUMP), *data.account_prefix)
        await self.make_runner(host, "dump")(Command(words))
        stored_files = await vaults(host).keep(self.make_runner(host, "keep"), place)
        await host.remove_directory(place)
        rows = int((await self.ask(server, "dbsize")).split()[-1])
        return SnapshotNode(
            host=host.name, files=stored_files.files, rows={_TABLE: rows}
        ), stored_files.copied

    async def _fetch(self, server: Server, vaults: Vaults, node: SnapshotNode) -> None:
        host, target = server.host, server.cwd / "incoming"
        await host.remove_directory(target)
        await host.make_directory(target)
        await vaults(host).fetch(self.make_runner(host, "fetch"), node.files, target)

    async def _restart_from_dump(self, server: Server) -> None:
        data = self.data[server.host.name]
        await server.kill()
        words = (str(server.cwd / "incoming" / _DUMP), str(data.path / _DUMP), *data.account_prefix)
        await self.make_runner(server.host, "lay")(Command(("sh", "-eu", "-c", _LAY, "sh", *words)))
        await self.restart(server)

    async def _read_field(self, server: Server, section: str, name: str) -> str:
        lines = (await self.ask(server, f"info {section}")).splitlines()
        return next((line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:")), "")
