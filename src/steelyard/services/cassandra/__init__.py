"""`use: cassandra` under `services`: a ring of Apache Cassandra 5.0."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.plugin import Endpoint, HostError
from steelyard.plugin.host import Host
from steelyard.plugin.service import Snapshot, Vaults
from steelyard.services.cassandra.home import CASSANDRA, JAVA, verify_jars
from steelyard.services.cassandra.manifest import examine
from steelyard.services.cassandra.mirror_nodes import MirroredNodes
from steelyard.services.cassandra.options import CassandraOptions
from steelyard.services.cassandra.snapshots import RingData, recover_snapshot, take_snapshot
from steelyard.services.kit.access import Listener
from steelyard.services.kit.cql import CQL
from steelyard.services.kit.cql_ring import more_tokens, separate_tokens
from steelyard.services.kit.server import Server
from steelyard.services.kit.tls_option import ENCRYPTED

_USER = "steelyard"


class Cassandra(MirroredNodes):
    """A ring of Apache Cassandra 5.0 with one node per host. All start at once, each with its own tokens.

    **Who may use it**: the role `steelyard` with the run's password, over the native protocol; or, with
    `authentication: none`, anyone who can reach it, for clients such as Hecuba that cannot log in. Every node
    listens only on its host's own address. Clients are admitted once every node sees every node; the role
    with the well-known password is never created. Clients use TLS unless all hosts have loopback addresses
    (`tls`). Nodes always use TLS and admit only holders of a certificate from the ring's own authority; so
    does management (JMX), which also requires a password.

    **Differences from Cassandra's default configuration**: tokens are assigned, not random; `ring_delay` is 2
    s, not 30, and nodes do not wait for gossip to settle, so a ring is ready in seconds; roles are cached for
    a minute; a node exits if its disk fails. Everything else keeps Cassandra's defaults; `settings` changes
    it.

    **Growing** adds one host after the other by bootstrap while the ring is in use; **shrinking**
    decommissions the last ones. A small program on the first host queries the nodes over JMX; see
    `cassandra.watch`.

    **A mirror** (`mirror:`) is a second data centre on the last hosts, whose data persist on a shared file
    system. Clients use the first data centre, with LOCAL_QUORUM; before the ring is removed, the mirror is
    verified to be complete.

    **Source**: https://cassandra.apache.org/doc/5.0. An installed Cassandra (`CASSANDRA_HOME`) is used if
    there is one; otherwise the one that `steelyard install cassandra` fetched, which is copied to hosts that
    have none.
    """

    Options = CassandraOptions
    speaks = CQL
    needs = (JAVA, CASSANDRA)
    default_ready_timeout = 180.0
    access = (
        Listener("clients (CQL)", authentication="password", encrypted=ENCRYPTED),
        Listener("other nodes", authentication="a certificate of the ring", encrypted="yes"),
        Listener(
            "management (JMX)", authentication="a certificate of the ring and a password", encrypted="yes"
        ),
    )
    covers = ("C4S.1", "C4S.2", "C4S.3", "C4S.4", "C4S.5", "C4S.15", "C4S.21", "C4S.24", "C4S.25", "C4S.27")
    examples = ({}, {"authentication": "none"})

    @classmethod
    def min_hosts(cls, options: CassandraOptions) -> int:
        """One more than its mirror has."""
        return 1 + (options.mirror.nodes if options.mirror else 0)

    def listeners(self) -> tuple[Listener, ...]:
        """With `authentication: none` clients show nothing."""
        clients, *others = self.access
        return (clients if self.has_authentication else replace(clients, authentication=""), *others)

    async def ready(self) -> None:
        """Every node sees every node, and lets clients in; the jars are compared meanwhile."""
        await self.watch.start()
        await asyncio.gather(
            super().ready(), *(verify_jars(host, self.homes[host.name]) for host in self._machines())
        )
        await self.watch.slow_down()

    async def stop(self) -> None:
        """End all nodes, at once: their data goes with the scratch, so they need not save it.

        Those of a mirror do save it: what they have stays.
        """
        await self._save_mirror()
        await asyncio.gather(
            self.watch.stop(), *(server.kill() for server in self.servers), return_exceptions=True
        )
        await super().stop()
        await self._leave_mirror()

    async def restart(self, host: str) -> None:
        """After a crash, with the data that it has; the others see it again, too."""
        await self.watch.expect(self._addresses())
        await super().restart(host)
        await self._wait_until_whole(self.servers_on(host)[0])
        await self.watch.slow_down()

    async def shrink(self, to: int) -> None:
        """Give hosts back, one after the other; see `Shrinkable`."""
        kept = len(self._mirror_hosts())
        if to < self.replication + kept:
            message = (
                f"service {self.context.name} cannot have {to} nodes: its replication is {self.replication}"
            )
            raise HostError(message + (f", and {kept} are its mirror, which stays" if kept else ""))
        while len(self._node_hosts()) > to:
            await self._leave(self.ring[-1])

    async def snapshot(self, vaults: Vaults, name: str) -> Snapshot:
        """All nodes at one moment; see `Snapshottable`. Those of a mirror have nothing that others lack."""
        await self._extend_mirror()
        return await take_snapshot(self._whole_ring(), vaults, name)

    async def recover(self, vaults: Vaults, snapshot: Snapshot) -> Mapping[str, float]:
        """Also of a ring of another size, and of an older version; see `Snapshottable`."""
        examine(snapshot, self.context.name, self._version())
        took = await recover_snapshot(self._whole_ring(), vaults, snapshot)
        return {**took, **await self._fill_mirror()}

    async def read_meters(self) -> Mapping[str, float]:
        """Sums over the nodes that answer; `live_nodes` counts those that are part of the ring."""
        nodes = (await self.watch.read_status()).nodes
        totals = {"live_nodes": float(sum(node["mode"] == "NORMAL" for node in nodes.values()))}
        for node in nodes.values():
            for name, value in node["meters"].items():
                totals[name] = totals.get(name, 0.0) + value
        return totals

    def endpoint(self) -> Endpoint:
        """The first node; `CONTACT_NAMES` and `NODE_PORT` are for applications that know Hecuba's names."""
        addresses = [host.address for host in self.ring]
        port = str(self.ports.native)
        facts = {
            "protocol": CQL.name,
            "servers": ",".join(f"{address}:{port}" for address in addresses),
            "datacenter": self.options.datacenter,
            "replication": str(self.replication),
            "tls": "true" if self.encrypted else "false",
            "version": self._version(),
            "CONTACT_NAMES": ",".join(addresses),
            "NODE_PORT": port,
            **(self.mirror.facts() if self.mirror else {}),
        }
        password = self.context.password if self.has_authentication else None
        login = {"user": _USER} if password else {}
        return Endpoint(addresses[0], self.ports.native, facts | login, password, self.shown_authority)

    async def _join(self, host: Host) -> None:
        owned = [self.tokens[other.name] for other in self.ring]
        beside = [token for other in self._mirror_hosts() for token in self.tokens[other.name]]
        self.tokens[host.name] = separate_tokens(more_tokens(owned, self.options.num_tokens), beside)
        await self._reset_data(host)
        await self._prepare(host, bootstrap=True)
        self.ring.append(host)
        await self.watch.expect(self._addresses())
        server = await self._start(host)
        try:
            await self._wait_until_whole(server)
        except BaseException:
            self.ring.remove(host)
            await asyncio.shield(self._end(server))
            raise
        finally:
            await self.watch.slow_down()

    async def _leave(self, host: Host) -> None:
        (server,) = self.servers_on(host.name)
        await self._operate("decommission", host)
        self.ring.remove(host)
        await self._end(server)
        await self._wait_until_whole(next(one for one in self.servers if one.exit is None))
        await self.watch.slow_down()

    async def _end(self, server: Server) -> None:
        """Of a node that is no part of the ring: Cassandra leaves its process running."""
        await server.kill()
        await server.stop()
        self.servers.remove(server)
        await self.watch.expect(self._addresses())

    async def _clean_up(self, hosts: Sequence[Host]) -> None:
        await asyncio.gather(*(self._operate("cleanup", host) for host in hosts))

    async def _operate(self, operation: str, host: Host) -> None:
        await self.watch.operate(operation, host.address, self.options.join_within)

    def _version(self) -> str:
        return self.homes[self.ring[0].name].version

    def _whole_ring(self) -> RingData:
        tokens = {host.name: self.tokens[host.name] for host in self.ring}
        return RingData(
            tuple(self.ring),
            tokens,
            self.options.datacenter,
            self._version(),
            self.watch,
            self.scratch,
            self.make_runner,
            self.options.snapshot_within,
            self.data,
            self.mirror.copies if self.mirror else {},
        )
