"""`use: scylladb` under `services`: a ring of ScyllaDB, where the hosts have it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from steelyard.errors import HostError
from steelyard.model.command import Endpoint
from steelyard.model.tool import Tool
from steelyard.remote.base import Host
from steelyard.services import _scylla_api as api
from steelyard.services._access import Listener
from steelyard.services._cassandra_config import rackdc_properties
from steelyard.services._cql_ring import even_tokens, more_tokens
from steelyard.services._data import make_data
from steelyard.services._ring import RingService
from steelyard.services._scylla_config import (
    USER,
    ScyllaNodeConfig,
    ScyllaPorts,
    api_address,
    choose_resources,
    scylla_arguments,
    scylla_yaml,
)
from steelyard.services._scylla_home import SCYLLA, find_program
from steelyard.services._scylla_options import ScyllaOptions
from steelyard.services._scylla_password import salt_password
from steelyard.services._server import Server
from steelyard.services._tls_option import ENCRYPTED
from steelyard.services.base import NodeState

_KEEP = 'umask 077; printf %s "$PASSWORD" > client.password'


class Scylladb(RingService[ScyllaOptions]):
    """A ring of ScyllaDB, a node on each host.

    **The server itself was never run where Steelyard was made**: it is in no package registry. What is told
    to it was checked against its manual, and tried with a stand-in.

    **Who may use it**: the role `steelyard` with the run's password, over the native protocol, from the first
    moment on: it is the superuser that scylla.yaml names (`auth_superuser_name`, its password salted), so the
    well-known one is never made; a version that makes it all the same is refused. Every node listens on its
    host's own address. Nodes talk by TLS, to those that the ring's own authority has signed and to no others;
    so do clients, unless the hosts' addresses are loopback (`tls`). Its management (REST) has no password and
    listens on the host's loopback alone: **whoever has an account on a host can manage its node**. Prometheus
    is off.

    **How it starts**: the first node, then all others at once, as the manual says. Tokens are told, not
    drawn; `ring_delay` is 2 s, and nodes do not wait for gossip to settle. Cores and memory are those of the
    host that it may use. **Growing** takes in one host after the other, **shrinking** decommissions the last.

    **Source**: https://docs.scylladb.com/manual, 2025.1. It is used where `SCYLLA_HOME` names it, where it is
    on PATH, or in /opt/scylladb.
    """

    options = ScyllaOptions
    program, glance = "scylla", 0.1
    needs = (
        SCYLLA,
        Tool("curl", "curl", "curl"),
        Tool("bash", "bash", "bash"),
        Tool("openssl", "openssl", "openssl"),
    )
    within = 180.0
    access = (
        Listener("clients (CQL)", asks="password", encrypted=ENCRYPTED),
        Listener("clients that know of shards", asks="password", encrypted="as that of other clients"),
        Listener("other nodes", asks="a certificate of the ring", encrypted="yes"),
        Listener("management (REST)", asks="", bound="loopback"),
    )
    examples = ({},)

    async def configure(self) -> None:
        """Find ports and the server; choose tokens; write what the nodes read."""
        await super().configure()
        hosts = self.context.hosts
        everywhere = (*hosts, *self.context.spare)
        client, *others = await self._chosen_ports(everywhere, 3)
        self.ports = ScyllaPorts(client, *others)
        self.replication = self._replication(len(hosts))
        self.ring = list(hosts)
        self.version, self.salted = "unknown", salt_password(self.context.password)
        tokens = even_tokens(len(hosts), self.chosen.num_tokens)
        self.tokens = {host.name: own for host, own in zip(hosts, tokens, strict=True)}
        programs = await asyncio.gather(*map(find_program, everywhere))
        self.data = await make_data(self, hosts)
        self.programs = {host.name: program for host, program in zip(everywhere, programs, strict=True)}
        await asyncio.gather(*(self._prepare(host, hosts[0]) for host in hosts))

    async def start(self) -> None:
        """The first node, of which the others learn; then all others at once."""
        first, *others = self.context.hosts
        await self._until_it_answers(await self._start(first))
        await asyncio.gather(*map(self._start, others))

    async def ready(self) -> None:
        """Every node sees every node, and lets the run in, and nobody by the well-known password."""
        await super().ready()
        self.version = await api.fetch_version(self.ring[0], self._place(self.ring[0]))
        if await self._lets_in(self.ring[0], "cassandra", "cassandra"):
            hint = "a newer ScyllaDB takes its superuser from scylla.yaml"
            message = (
                f"service {self.context.name}: ScyllaDB {self.version} lets in whoever knows the default"
            )
            raise HostError(message, hint=hint)

    async def stop(self) -> None:
        """End all nodes, at once: their data goes with the scratch, so they need not save it."""
        await asyncio.gather(*(server.kill() for server in self.servers), return_exceptions=True)
        await super().stop()

    async def answers(self, server: Server) -> bool:
        """It sees all nodes that are to be there, by its own word, and lets the run in."""
        host = server.host
        if not (await api.fetch_state(host, self._place(host))).sees(one.address for one in self._living()):
            return False
        return await self._lets_in(host)

    async def restart(self, host: str) -> None:
        """After a crash, with the data that it has; the others see it again, too."""
        await super().restart(host)
        await self._until_whole(self.servers_on(host)[0])

    async def shrink(self, to: int) -> None:
        """Give hosts back, one after the other; see `Shrinkable`."""
        if to < self.replication:
            name, copies = self.context.name, self.replication
            raise HostError(f"service {name} cannot have {to} nodes: its replication is {copies}")
        while len(self.ring) > to:
            await self._leave(self.ring[-1])

    async def nodes(self) -> tuple[NodeState, ...]:
        """Each by its own word; see `HasNodes`."""
        return tuple(await asyncio.gather(*map(self._node, self.servers)))

    async def meters(self) -> Mapping[str, float]:
        """Sums over the nodes that answer; `live_nodes` counts those that are part of the ring."""
        places = [(host, self._place(host)) for host in self.ring]
        states = await asyncio.gather(*(api.fetch_state(*place) for place in places))
        totals = {"live_nodes": float(sum(state.normal for state in states))}
        for figures in await asyncio.gather(*(api.fetch_meters(*place) for place in places)):
            for name, value in figures.items():
                totals[name] = totals.get(name, 0.0) + value
        return totals

    def endpoint(self) -> Endpoint:
        """The first node; `CONTACT_NAMES` and `NODE_PORT` are for applications that know Hecuba's names."""
        addresses, port = [host.address for host in self.ring], str(self.ports.native)
        facts = {
            "protocol": "cql",
            "user": USER,
            "servers": ",".join(f"{address}:{port}" for address in addresses),
            "datacenter": self.chosen.datacenter,
            "replication": str(self.replication),
            "tls": "true" if self.encrypted else "false",
            "version": self.version,
            "CONTACT_NAMES": ",".join(addresses),
            "NODE_PORT": port,
        }
        return Endpoint(addresses[0], self.ports.native, facts, self.context.password, self.shown_authority)

    async def _node(self, server: Server) -> NodeState:
        host, place = server.host, self._place(server.host)
        tokens = tuple(map(str, self.tokens[host.name]))
        mode = (await api.fetch_state(host, place)).said.get("mode")
        if mode is None:
            state = "paused" if server.frozen else "down"
            return NodeState(host.name, host.address, state, None, tokens)
        load = (await api.fetch_meters(host, place)).get("load_bytes")
        state = "up" if mode == "NORMAL" else str(mode).lower()
        return NodeState(host.name, host.address, state, None if load is None else int(load), tokens)

    async def _lets_in(self, host: Host, *well_known: str) -> bool:
        scratch = str(self.scratch(host))
        return await api.can_log_in(
            host, host.address, self.ports.native, scratch, *well_known, encrypted=self.encrypted
        )

    def _place(self, host: Host) -> str:
        return f"{api_address(host.address)}:{self.ports.api}"

    async def _prepare(self, host: Host, seed: Host) -> None:
        node = ScyllaNodeConfig(
            address=host.address,
            tokens=self.tokens[host.name],
            seed=seed.address,
            ports=self.ports,
            conf=self._conf(host),
            data=self.data[host.name].path,
            salted=self.salted,
            cluster=self.cluster,
            encrypted=self.encrypted,
            ring_delay=self.chosen.ring_delay,
            settings=self.chosen.settings,
        )
        files = {
            "scylla.yaml": scylla_yaml(node),
            "cassandra-rackdc.properties": rackdc_properties(self.chosen.datacenter),
        }
        await self._write_conf(host, {**files, **self.authority.files(host.address)})
        await self.small(host, "password", _KEEP, PASSWORD=self.context.password)

    async def _start(self, host: Host) -> Server:
        chosen, conf = self.chosen, self._conf(host)
        argv = scylla_arguments(
            self.programs[host.name],
            conf,
            choose_resources(self.share(host), chosen.smp, chosen.memory),
            developer=chosen.developer_mode,
            alone=chosen.alone,
        )
        command = self.data[host.name].as_its_user(*argv, *chosen.flags, SCYLLA_CONF=str(conf))
        return await self.launch(host, self.program, command, address=host.address, port=self.ports.native)

    async def _join(self, host: Host) -> None:
        owned = [self.tokens[other.name] for other in self.ring]
        self.tokens[host.name] = more_tokens(owned, self.chosen.num_tokens)
        await self._begin_anew(host)
        await self._prepare(host, self.ring[0])
        server = await self._start(host)
        try:
            await self._until_whole(server)
        except BaseException:
            await asyncio.shield(self._end(server))
            raise
        self.ring.append(host)

    async def _leave(self, host: Host) -> None:
        (server,) = self.servers_on(host.name)
        await self._tell(host, "/storage_service/decommission")
        self.ring.remove(host)
        await self._end(server)
        await self._until_whole(self._living()[0])

    async def _end(self, server: Server) -> None:
        """Of a node that is no part of the ring: ScyllaDB leaves its process running."""
        await server.kill()
        await server.stop()
        self.servers.remove(server)

    async def _tell(self, host: Host, path: str) -> None:
        try:
            await api.run_operation(host, self._place(host), path, self.chosen.join_within)
        except HostError as error:
            raise HostError(f"service {self.context.name}: {error.message}") from error

    async def whole(self) -> bool:
        """Each by its own word."""
        return all(await asyncio.gather(*map(self.answers, self._living())))

    async def _clean_up(self, hosts: Sequence[Host]) -> None:
        """One at a time, as the manual asks."""
        for host in hosts:
            await self._tell(host, "/storage_service/cleanup_all")
