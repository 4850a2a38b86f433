"""The daemons of a GlusterFS cluster, one on each host: started, made one cluster, asked and told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from steelyard.plugin import Command, HostError
from steelyard.plugin.host import Host
from steelyard.plugin.service import Service
from steelyard.services.glusterfs import status
from steelyard.services.glusterfs.options import GlusterfsOptions
from steelyard.services.glusterfs.volume import ISOLATE, PORT, RUN, management_volume
from steelyard.services.kit.data import DataDirectory
from steelyard.services.kit.ports import check_free, list_listening_ports
from steelyard.services.kit.private_files import write_private
from steelyard.services.kit.server import Server

_ASK_WITHIN, _CHANGE_WITHIN = 20.0, 120.0  # seconds
# The first process in the daemon's namespaces is the only child of the one that made them.
_ENTER = """
first=$(cat "/proc/$0/task/$0/children") && nsenter --mount --pid --target ${first%% *} -- "$@" || :
"""
_PREPARE = """
[ "$(id -u)" = 0 ] || { echo "GlusterFS's servers must be started by root" >&2; exit 1; }
mkdir -p state log bricks
"""


class GlusterCluster:
    """The daemons of a service; `addresses` are those of all hosts that may ever be of it, by their names.

    They take one command at a time, so commands wait for their turn.
    """

    def __init__(self, service: Service[GlusterfsOptions], addresses: Mapping[str, str]) -> None:
        self._service, self.addresses = service, addresses
        self._turn = asyncio.Lock()

    async def write_configuration(self, host: Host) -> None:
        """Make the directories of a host's daemon, and write what it reads. Raises HostError."""
        await check_free(host, [PORT])
        await self._service.run_script(host, "directories", _PREPARE)
        texts = {"glusterd.vol": management_volume(self.addresses[host.name])}
        await write_private(self._service, host, DataDirectory(self._service.scratch(host)), texts, "conf")

    async def start_daemon(self, host: Host) -> Server:
        """Start the daemon of a host, in namespaces of its own."""
        words = (*ISOLATE, "sh", "-euc", RUN, "sh", str(self._service.scratch(host)))
        address = self.addresses[host.name]
        return await self._service.launch(host, "glusterd", Command(words), address=address, port=PORT)

    async def is_managing(self, server: Server) -> bool:
        """Whether a daemon answers; it need not have a volume yet."""
        if server.port not in await list_listening_ports(server.host):
            return False
        return status.is_success(await self.ask(server, "pool", "list"))

    async def invite(self, hosts: Sequence[Host]) -> None:
        """Have daemons belong to the first one's cluster. Raises HostError."""
        for host in hosts:
            await self.command("peer", "probe", self.addresses[host.name])
        count = len(self._service.servers)

        async def is_whole(server: Server) -> bool:
            return status.count_connected_peers(await self.ask(server, "pool", "list")) == count

        await asyncio.gather(
            *(self._service.wait_for_server(server, is_whole) for server in self._service.servers)
        )

    def list_live_servers(self) -> list[Server]:
        """Those that nobody has killed or frozen, in the order of their hosts: the first makes the volume."""
        order = [host.name for host in (*self._service.context.hosts, *self._service.context.spare)]
        live = (server for server in self._service.servers if server.exit is None and not server.frozen)
        return sorted(live, key=lambda server: order.index(server.host.name))

    async def ask(self, server: Server, *words: str) -> str:
        """What a daemon answers as XML; empty when it does not. It leaves no file in the record."""
        async with self._turn:
            return await server.host.capture(_client_words(server, *words), seconds=_ASK_WITHIN) or ""

    async def command(self, *words: str) -> None:
        """Have the first daemon do something. Raises HostError with its word of why it does not."""
        server = self.list_live_servers()[0]
        async with self._turn:
            said = await server.host.capture(_client_words(server, *words), seconds=_CHANGE_WITHIN) or ""
        if not status.is_success(said):
            why = status.find_error(said) or "it did not answer"
            raise HostError(
                f"service {self._service.context.name}: `gluster {' '.join(words[:2])}` failed: {why}"
            )


def _client_words(server: Server, *words: str) -> tuple[str, ...]:
    """gluster(8) where it finds the daemon's socket; a refusal is an answer, too."""
    return ("sh", "-c", _ENTER, str(server.process.pid), "gluster", "--mode=script", "--xml", *words)
