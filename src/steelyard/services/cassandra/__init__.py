"""`use: cassandra` under `services`: a ring of Apache Cassandra 5.0."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.plugin import Endpoint
from steelyard.plugin.host import Host
from steelyard.plugin.service import NodeState, Snapshot, Vaults
from steelyard.services.cassandra.config import CassandraPorts
from steelyard.services.cassandra.home import CASSANDRA, JAVA, CassandraHome, find_homes, verify_homes
from steelyard.services.cassandra.manifest import examine
from steelyard.services.cassandra.mirror import Mirror, split_hosts
from steelyard.services.cassandra.mirror_control import MirrorControl
from steelyard.services.cassandra.nodes import CassandraNodes, choose_first_tokens, describe_node
from steelyard.services.cassandra.options import CassandraOptions
from steelyard.services.cassandra.plan import RingPlan
from steelyard.services.cassandra.snapshots import RingSnapshots
from steelyard.services.cassandra.watch import RingPasswords, RingWatch
from steelyard.services.kit.access import Listener
from steelyard.services.kit.data import make_data
from steelyard.services.kit.ring import RingService
from steelyard.services.kit.ring_members import RingMembers
from steelyard.services.kit.server import Server
from steelyard.services.kit.tls_option import ENCRYPTED

_USER = "steelyard"


class Cassandra(RingService[CassandraOptions]):
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
    program = "cassandra"
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

    mirror: MirrorControl | None = None
    """What acts on its second data centre, where it has one."""

    @classmethod
    def min_hosts(cls, options: CassandraOptions) -> int:
        """One more than its mirror has."""
        return 1 + (options.mirror.nodes if options.mirror else 0)

    def listeners(self) -> tuple[Listener, ...]:
        """With `authentication: none` clients show nothing."""
        clients, *others = self.access
        asked = self.options.has_authentication
        return (clients if asked else replace(clients, authentication=""), *others)

    async def configure(self) -> None:
        """Find ports, Java and Cassandra; choose tokens; write what the nodes read."""
        await super().configure()
        hosts, everywhere = self.context.hosts, (*self.context.hosts, *self.context.spare)
        ring, mirror = split_hosts(hosts, self.options.mirror, self.context.name)
        self.replication = self._choose_replication(len(ring))
        ports, homes, self.data = await asyncio.gather(
            self._choose_ports(everywhere, 2), find_homes(everywhere, self.scratch), make_data(self, hosts)
        )
        self.members = RingMembers(ring, mirror.hosts if mirror else ())
        self._compose(self._make_plan(CassandraPorts(*ports), homes, mirror))
        self.members.tokens = choose_first_tokens(self.plan, self.context.snapshot)
        schema, addresses = self.nodes.schema(), self.members.addresses
        await asyncio.gather(
            self.watch.configure(self.secrets, self.authority, schema, addresses),
            *(self._write_conf(host, self.nodes.files(host)) for host in hosts),
        )
        if self.mirror:
            await self.mirror.prepare()

    async def start(self) -> None:
        """All nodes at once."""
        await asyncio.gather(*(self._start(host) for host in self.context.hosts))

    async def ready(self) -> None:
        """Every node sees every node, and lets clients in; the jars are compared meanwhile."""
        await self.watch.start()
        await asyncio.gather(super().ready(), verify_homes(self.members.hosts, self.plan.homes))
        await self.watch.slow_down()

    async def is_answering(self, server: Server) -> bool:
        """It sees all nodes that are to be there, by its own word, and lets clients in."""
        return await self.watch.is_node_ready(server.address, self._live_addresses())

    async def is_whole(self) -> bool:
        """Each by its own word, as the watch heard it."""
        live = self._live_addresses()
        return all([await self.watch.is_node_ready(address, live) for address in live])

    async def stop(self) -> None:
        """End all nodes; those of a mirror save their data, since what they have stays."""
        if self.mirror:
            await self.mirror.save([server.host for server in self._live_servers()])
        await asyncio.gather(self.watch.stop(), return_exceptions=True)
        await super().stop()
        if self.mirror:
            await self.mirror.leave()

    async def restart(self, host: str) -> None:
        """After a crash, with the data that it has; the others see it again, too."""
        await self.watch.expect(self.members.addresses)
        await super().restart(host)
        await self.watch.slow_down()

    async def list_nodes(self) -> tuple[NodeState, ...]:
        """As the first that answers sees them: those that clients use, then those of the mirror."""
        seen = (await self.watch.read_status()).nodes
        return tuple(
            describe_node(host, self.members.token_words(host), self.servers, seen.get(host.address))
            for host in self.members.hosts
        )

    async def prove_mirror(self) -> Mapping[str, Any]:
        """Once nothing moves between the nodes, or one is gone and will not come; see `HasMirror`."""
        if self.mirror is None:
            return {}
        until = time.monotonic() + self.mirror.layout.options.within
        while not await self.is_settled():
            if len(self._live_servers()) < len(self.servers) or time.monotonic() > until:
                break
            await asyncio.sleep(0.1)
        return await self.mirror.prove(until - time.monotonic())

    async def snapshot(self, vaults: Vaults, name: str) -> Snapshot:
        """All nodes at one moment; see `Snapshottable`. Those of a mirror have nothing that others lack."""
        if self.mirror:
            await self.mirror.extend(self.options.snapshot_within)
        return await self.snapshots.take(vaults, name)

    async def recover(self, vaults: Vaults, snapshot: Snapshot) -> Mapping[str, float]:
        """Also of a ring of another size, and of an older version; see `Snapshottable`."""
        examine(snapshot, self.context.name, self.plan.version)
        took = await self.snapshots.recover(vaults, snapshot)
        return {**took, **(await self.mirror.fill(self.options.snapshot_within) if self.mirror else {})}

    async def read_meters(self) -> Mapping[str, float]:
        """Sums over the nodes that answer; see `RingStatus`."""
        return (await self.watch.read_status()).sum_meters()

    def endpoint(self) -> Endpoint:
        """The first node."""
        plan, password = self.plan, self.context.password if self.options.has_authentication else None
        facts = {**(plan.mirror.facts() if plan.mirror else {}), **({"user": _USER} if password else {})}
        return self._endpoint(plan.ports.native, plan.version, facts, password)

    def _make_plan(
        self, ports: CassandraPorts, homes: Mapping[str, CassandraHome], mirror: Mirror | None
    ) -> RingPlan:
        return RingPlan(
            self.context.name,
            self.options,
            self.cluster,
            self.encrypted,
            self.replication,
            ports,
            homes,
            self.data,
            self.members,
            mirror,
        )

    def _compose(self, plan: RingPlan) -> None:
        """The parts that it has, each with what it needs."""
        first = self.context.hosts[0]
        home, directory = plan.homes[first.name], self.scratch(first) / "ring"
        self.plan, self.secrets = plan, RingPasswords.from_client_password(self.context.password)
        self.watch = RingWatch(first, directory, self.context.logs, home, plan.ports)
        self.nodes = CassandraNodes(plan, self._conf, self.share, self.secrets.jmx)
        self.snapshots = RingSnapshots(plan, self.watch, self.scratch, self.make_runner)
        if plan.mirror:
            self.mirror = MirrorControl(plan.mirror, plan, self.watch, self.run_script, self.list_nodes)

    async def _start(self, host: Host) -> Server:
        if self.mirror and host in self.members.beside:
            await self.mirror.begin(host)
        command, port = self.nodes.command(host), self.plan.ports.native
        return await self.launch(host, self.program, command, address=host.address, port=port)

    async def _join(self, host: Host) -> None:
        self.members.tokens[host.name] = self.members.choose_tokens(self.options.num_tokens)
        await self._reset_data(host)
        await self._write_conf(host, self.nodes.files(host, bootstrap=True))
        self.members.ring.append(host)
        await self.watch.expect(self.members.addresses)
        server = await self._start(host)
        try:
            await self._wait_until_whole(server)
        except BaseException:
            self.members.ring.remove(host)
            await asyncio.shield(self._end(server))
            raise
        finally:
            await self.watch.slow_down()

    async def _leave(self, host: Host) -> None:
        (server,) = self.servers_on(host.name)
        await self.watch.operate("decommission", host.address, self.options.join_within)
        self.members.ring.remove(host)
        await self._end(server)
        await self._wait_until_whole(next(one for one in self.servers if one.exit is None))
        await self.watch.slow_down()

    async def _end(self, server: Server) -> None:
        await super()._end(server)
        await self.watch.expect(self.members.addresses)

    async def _clean_up(self, hosts: Sequence[Host]) -> None:
        seconds = self.options.join_within
        await asyncio.gather(*(self.watch.operate("cleanup", host.address, seconds) for host in hosts))
