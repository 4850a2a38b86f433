"""`use: cassandra` under `services`: a ring of Apache Cassandra 5.0."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import PurePosixPath

from steelyard.errors import HostError
from steelyard.model.command import Command, Endpoint
from steelyard.remote.base import Host
from steelyard.services import _cassandra_jvm as jvm
from steelyard.services._cassandra_config import LOGBACK, Node, Ports, cassandra_yaml, rack
from steelyard.services._cassandra_home import CASSANDRA, JAVA, Home, found_home, verify
from steelyard.services._cassandra_options import CassandraOptions
from steelyard.services._cassandra_watch import Secrets, Watch
from steelyard.services._cql_ring import even_tokens, more_tokens
from steelyard.services._disturbable import Disturbable
from steelyard.services._ports import check_free, free_ports
from steelyard.services._server import Server

_USER = "steelyard"
# A node that comes back to the ring on the same host begins with nothing.
_WRITE = """
umask 077; rm -rf node; mkdir -p node/conf node/files node/logs; cd node/conf
printf '%s' "$YAML" > cassandra.yaml; printf '%s' "$RACK" > cassandra-rackdc.properties
printf '%s' "$LOGBACK" > logback.xml; printf '%s' "$ARGUMENTS" > java.arguments
printf '%s\\n' "$PASSWORD" > jmx.password
"""


class Cassandra(Disturbable[CassandraOptions]):
    """A ring of Apache Cassandra 5.0: a node on each host. All start at once, each with its own tokens.

    **Who may use it**: the role `steelyard` with the run's password, over the native protocol. Every node
    listens on its host's own address only. Clients are let in when every node sees every node, and when
    Cassandra's default role has lost its well-known password and may log in no more. Management (JMX) asks
    for a password, too. What goes over the network is not encrypted.

    **How it differs from the file that Cassandra ships**: tokens are told, not drawn; `ring_delay` is 2 s,
    not 30, and nodes do not wait for gossip to settle, so that a ring is ready in seconds; roles are
    remembered for a minute; a node whose disk fails ends. All else is as Cassandra has it by itself;
    `settings` changes it.

    **Growing** takes in one host after the other by bootstrap, while the ring is in use, and **shrinking**
    decommissions the last ones. The nodes are asked over JMX by a small program on the first host; see
    `_cassandra_watch`.

    **Source**: https://cassandra.apache.org/doc/5.0. An installed one (`CASSANDRA_HOME`) is used where there
    is one; else what `steelyard install cassandra` fetched, which is copied to hosts that have none.
    """

    options = CassandraOptions
    needs = (JAVA, CASSANDRA)
    within = 180.0
    examples = ({},)

    async def configure(self) -> None:
        """Find ports, Java and Cassandra; choose tokens; write what the nodes read."""
        hosts = self.context.hosts
        everywhere = (*hosts, *self.context.spare)
        self.ports = await self._chosen_ports(everywhere)
        self.replication = self._replication(len(hosts))
        self.ring = list(hosts)
        tokens = even_tokens(len(hosts), self.chosen.num_tokens)
        self.tokens = {host.name: own for host, own in zip(hosts, tokens, strict=True)}
        self.secrets = Secrets.drawn(self.context.password)
        found = await asyncio.gather(*(found_home(host, self.scratch(host)) for host in everywhere))
        self.homes = {host.name: home for host, home in zip(everywhere, found, strict=True)}
        await asyncio.gather(self._prepare_watch(), *(self._prepare(host) for host in hosts))

    async def start(self) -> None:
        """All nodes at once."""
        await asyncio.gather(*(self._start(host) for host in self.context.hosts))

    async def ready(self) -> None:
        """Every node sees every node, and lets clients in; the jars are compared meanwhile."""
        await self.watch.start()
        await asyncio.gather(
            super().ready(), *(verify(host, self.homes[host.name]) for host in self._machines())
        )
        await self.watch.calm()

    async def stop(self) -> None:
        """End all nodes, at once: their data goes with the scratch, so they need not save it."""
        await asyncio.gather(
            self.watch.stop(), *(server.kill() for server in self.servers), return_exceptions=True
        )
        await super().stop()

    async def answers(self, server: Server) -> bool:
        """It sees all nodes that are to be there, by its own word, and lets clients in."""
        return await self.watch.whole(server.address, self._alive())

    async def restart(self, host: str) -> None:
        """After a crash, with the data that it has; the others see it again, too."""
        await self.watch.expect(self._addresses())
        await super().restart(host)
        await self._until_whole(self.servers_on(host)[0])
        await self.watch.calm()

    async def grow(self, to: int) -> None:
        """Take in hosts, one after the other; see `Growable`."""
        free = [host for host in (*self.context.hosts, *self.context.spare) if host not in self.ring]
        if to > len(self.ring) + len(free):
            most = len(self.ring) + len(free)
            hint = "name more hosts under `grow_into`"
            raise HostError(f"service {self.context.name} cannot have {to} nodes, only {most}", hint=hint)
        old, new = list(self.ring), free[: max(0, to - len(self.ring))]
        for host in new:
            await self._join(host)
        if new and self.chosen.cleanup:
            await asyncio.gather(*(self._operate("cleanup", host) for host in old))

    async def shrink(self, to: int) -> None:
        """Give hosts back, one after the other; see `Shrinkable`."""
        if to < self.replication:
            message = (
                f"service {self.context.name} cannot have {to} nodes: its replication is {self.replication}"
            )
            raise HostError(message)
        while len(self.ring) > to:
            await self._leave(self.ring[-1])

    async def meters(self) -> Mapping[str, float]:
        """Sums over the nodes that answer; `live_nodes` counts those that are part of the ring."""
        nodes = (await self.watch.picture()).nodes
        found = {"live_nodes": float(sum(node["mode"] == "NORMAL" for node in nodes.values()))}
        for node in nodes.values():
            for name, value in node["meters"].items():
                found[name] = found.get(name, 0.0) + value
        return found

    def endpoint(self) -> Endpoint:
        """The first node; `CONTACT_NAMES` and `NODE_PORT` are for applications that know Hecuba's names."""
        addresses = self._addresses()
        port = str(self.ports.native)
        facts = {
            "protocol": "cql",
            "user": _USER,
            "servers": ",".join(f"{address}:{port}" for address in addresses),
            "datacenter": self.chosen.datacenter,
            "replication": str(self.replication),
            "version": self.homes[self.ring[0].name].version,
            "CONTACT_NAMES": ",".join(addresses),
            "NODE_PORT": port,
        }
        return Endpoint(addresses[0], self.ports.native, facts, self.context.password)

    def _addresses(self) -> list[str]:
        return [host.address for host in self.ring]

    def _machines(self) -> list[Host]:
        """A host of each; copies of the jars lie in a host's scratch, so these are all looked at."""
        return list({(host.machine, self.homes[host.name].lib): host for host in self.ring}.values())

    def _alive(self) -> list[str]:
        """Addresses of nodes that nobody has killed or frozen: those that the others must see."""
        return [server.address for server in self.servers if server.exit is None and not server.frozen]

    def _replication(self, nodes: int) -> int:
        asked = self.chosen.replication or min(3, nodes)
        if asked > nodes:
            raise HostError(
                f"service {self.context.name}: replication {asked} needs {asked} nodes, not {nodes}"
            )
        return asked

    async def _chosen_ports(self, hosts: tuple[Host, ...]) -> Ports:
        asked = self.chosen.port
        if asked is not None:
            for host in hosts:
                await check_free(host, [asked])
        found = [port for port in await free_ports(hosts, 3) if port != asked]
        return Ports(asked or found[2], found[0], found[1])

    async def _prepare_watch(self) -> None:
        first = self.context.hosts[0]
        directory = self.scratch(first) / "ring"
        await first.make_directory(directory)
        self.watch = Watch(first, directory, self.context.logs, self.homes[first.name], self.ports)
        placing = f"{{'class': 'NetworkTopologyStrategy', '{self.chosen.datacenter}': {self.replication}}}"
        await self.watch.configure(
            self.secrets, {"keyspaces": ",".join(self.chosen.keyspaces), "replication": placing}
        )
        await self.watch.expect(self._addresses())

    async def _prepare(self, host: Host, *, bootstrap: bool = False) -> None:
        directory = self.scratch(host) / "node"
        node = Node(
            address=host.address,
            tokens=self.tokens[host.name],
            seeds=self._seeds(host, bootstrap),
            ports=self.ports,
            directory=directory,
            bootstrap=bootstrap,
            cluster=self.context.name,
            commitlog_sync=self.chosen.commitlog_sync,
            settings=self.chosen.settings,
        )
        await self.small(
            host,
            "configuration",
            _WRITE,
            YAML=cassandra_yaml(node),
            RACK=rack(self.chosen.datacenter),
            LOGBACK=LOGBACK,
            ARGUMENTS=self._arguments(host, self.homes[host.name], directory),
            PASSWORD=self.secrets.jmx,
        )

    def _seeds(self, host: Host, bootstrap: bool) -> tuple[str, ...]:
        """A node that is a seed itself starts although no other is there yet; one that joins may be none.

        All ask the first for the ring, which asks nobody: were all of them seeds of all, each would wait for
        the others until `ring_delay` is over.
        """
        if bootstrap:
            return tuple(self._addresses()[:3])
        return tuple(dict.fromkeys((self.context.hosts[0].address, host.address)))

    def _arguments(self, host: Host, home: Home, directory: PurePosixPath) -> str:
        share = self.share(host)
        size = self.chosen.heap or jvm.heap(share)
        conf = directory / "conf"
        flags = [
            *jvm.modules(),
            *jvm.memory(size, share.cores),
            *jvm.behaviour(host.address, directory, self.replication, self.chosen.ring_delay),
            f"-javaagent:{home.lib}/jamm-0.4.0.jar",
            *self.chosen.jvm,
            "-cp",
            f"{home.lib}/*:{home.classes}",
        ]
        node = ("steelyard.cassandra.Node", host.address, str(self.ports.jmx), f"{conf}/jmx.password")
        return jvm.arguments([*flags, *node])

    async def _start(self, host: Host) -> Server:
        command = Command((self.homes[host.name].java, f"@{self.scratch(host)}/node/conf/java.arguments"))
        return await self.launch(host, "cassandra", command, address=host.address, port=self.ports.native)

    async def _join(self, host: Host) -> None:
        self.tokens[host.name] = more_tokens(
            [self.tokens[other.name] for other in self.ring], self.chosen.num_tokens
        )
        await self._prepare(host, bootstrap=True)
        self.ring.append(host)
        await self.watch.expect(self._addresses())
        server = await self._start(host)
        try:
            await self._until_whole(server)
        except BaseException:
            self.ring.remove(host)
            await asyncio.shield(self._end(server))
            raise
        finally:
            await self.watch.calm()

    async def _leave(self, host: Host) -> None:
        (server,) = self.servers_on(host.name)
        await self._operate("decommission", host)
        self.ring.remove(host)
        await self._end(server)
        await self._until_whole(next(one for one in self.servers if one.exit is None))
        await self.watch.calm()

    async def _end(self, server: Server) -> None:
        """Of a node that is no part of the ring: Cassandra leaves its process running."""
        await server.kill()
        await server.stop()
        self.servers.remove(server)
        await self.watch.expect(self._addresses())

    async def _operate(self, operation: str, host: Host) -> None:
        await self.watch.operate(operation, host.address, self.chosen.join_within)

    async def _until_whole(self, changed: Server) -> None:
        where = f"service {self.context.name}: cassandra on {changed.host.name} ({changed.address})"
        try:
            async with asyncio.timeout(self.chosen.join_within):
                while changed.exit is None:
                    if all([await self.watch.whole(one, self._alive()) for one in self._alive()]):
                        return
                    await asyncio.sleep(0.05)
        except TimeoutError:
            took = f"{self.chosen.join_within:g} s"
            raise HostError(f"{where} did not join within {took}; {changed.last_words()}") from None
        raise HostError(f"{where} ended before it had joined; {changed.last_words()}")
