"""`use: scylladb` under `services`: a ring of ScyllaDB, where the hosts have it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from steelyard.plugin import Endpoint, HostError, Tool
from steelyard.plugin.host import Host
from steelyard.plugin.service import NodeState
from steelyard.services.kit.access import Listener
from steelyard.services.kit.cql_ring import even_tokens, rackdc_properties
from steelyard.services.kit.data import make_data
from steelyard.services.kit.meters import add_figures
from steelyard.services.kit.ring import RingService
from steelyard.services.kit.ring_members import RingMembers
from steelyard.services.kit.server import Server
from steelyard.services.kit.tls_option import ENCRYPTED
from steelyard.services.scylladb import api
from steelyard.services.scylladb.config import (
    USER,
    ScyllaNodeConfig,
    ScyllaPorts,
    api_address,
    choose_resources,
    scylla_arguments,
    scylla_yaml,
)
from steelyard.services.scylladb.home import SCYLLA, find_program
from steelyard.services.scylladb.options import ScyllaOptions
from steelyard.services.scylladb.password import salt_password

_KEEP = 'umask 077; printf %s "$PASSWORD" > client.password'


class Scylladb(RingService[ScyllaOptions]):
    """A ScyllaDB ring with one node per host.

    **Steelyard was developed without running the real server**, which is in no package registry. Its
    configuration was checked against the manual and tested with a stand-in.

    **Who may use it**: the role `steelyard` with the run's password, over the native protocol, from the
    start: it is the superuser that scylla.yaml names (`auth_superuser_name`, with a salted password), so the
    well-known superuser is never created; a version that creates it anyway is rejected. Every node listens on
    its host's own address. Nodes use TLS and talk only to nodes signed by the ring's own authority; clients
    also use TLS, unless the hosts' addresses are loopback (`tls`). Its management (REST) has no password and
    listens only on the host's loopback: **anyone with an account on a host can manage its node**. Prometheus
    is off.

    **How it starts**: the first node, then all others at once, as in the manual. Tokens are assigned, not
    random; `ring_delay` is 2 s, and nodes do not wait for gossip to settle. It gets the cores and memory that
    it may use on each host. **Growing** adds one host after the other; **shrinking** decommissions the last.

    **Source**: https://docs.scylladb.com/manual, 2025.1. It is found through `SCYLLA_HOME`, on PATH, or in
    /opt/scylladb.
    """

    Options = ScyllaOptions
    program, poll_interval = "scylla", 0.1
    needs = (
        SCYLLA,
        Tool("curl", "curl", "curl"),
        Tool("bash", "bash", "bash"),
        Tool("openssl", "openssl", "openssl"),
    )
    default_ready_timeout = 180.0
    access = (
        Listener("clients (CQL)", authentication="password", encrypted=ENCRYPTED),
        Listener("shard-aware clients", authentication="password", encrypted="same as other clients"),
        Listener("other nodes", authentication="a certificate of the ring", encrypted="yes"),
        Listener("management (REST)", authentication="", binding="loopback"),
    )
    covers = ("C4S.20",)
    examples = ({},)

    async def configure(self) -> None:
        """Find ports and the server; choose tokens; write what the nodes read."""
        await super().configure()
        hosts = self.context.hosts
        everywhere = (*hosts, *self.context.spare)
        client, *others = await self._choose_ports(everywhere, 3)
        self.ports = ScyllaPorts(client, *others)
        self.replication = self._choose_replication(len(hosts))
        self.version, self.salted_password = "unknown", salt_password(self.context.password)
        self.members = self._make_members()
        programs = await asyncio.gather(*map(find_program, everywhere))
        self.data = await make_data(self, hosts)
        self.programs = {host.name: program for host, program in zip(everywhere, programs, strict=True)}
        await asyncio.gather(*(self._prepare(host, hosts[0]) for host in hosts))

    def _make_members(self) -> RingMembers:
        hosts = self.context.hosts
        tokens = even_tokens(len(hosts), self.options.num_tokens)
        own_tokens = {host.name: own for host, own in zip(hosts, tokens, strict=True)}
        return RingMembers(list(hosts), tokens=own_tokens)

    async def start(self) -> None:
        """The first node, of which the others learn; then all others at once."""
        first, *others = self.context.hosts
        await self._wait_until_answering(await self._start(first))
        await asyncio.gather(*map(self._start, others))

    async def ready(self) -> None:
        """Every node sees every node, and lets the run in, and nobody by the well-known password."""
        await super().ready()
        first = self.members.ring[0]
        self.version = await api.fetch_version(first, self._api_endpoint(first))
        if await self._can_log_in(first, "cassandra", "cassandra"):
            hint = "use a newer ScyllaDB, which takes its superuser from scylla.yaml"
            message = f"service {self.context.name}: ScyllaDB {self.version} accepts the default password"
            raise HostError(message, hint=hint)

    async def is_answering(self, server: Server) -> bool:
        """It sees all nodes that are to be there, by its own word, and lets the run in."""
        host = server.host
        state = await api.fetch_state(host, self._api_endpoint(host))
        return state.is_ready(self._live_addresses()) and await self._can_log_in(host)

    async def list_nodes(self) -> tuple[NodeState, ...]:
        """Each by its own word; see `HasNodes`."""
        return tuple(await asyncio.gather(*map(self._read_node_state, self.servers)))

    async def read_meters(self) -> Mapping[str, float]:
        """Sums over the nodes that answer; `live_nodes` counts those that are part of the ring."""
        places = [(host, self._api_endpoint(host)) for host in self.members.ring]
        states = await asyncio.gather(*(api.fetch_state(*place) for place in places))
        figures = await asyncio.gather(*(api.fetch_meters(*place) for place in places))
        return {"live_nodes": float(sum(state.is_normal for state in states)), **add_figures(figures)}

    def endpoint(self) -> Endpoint:
        """The first node."""
        return self._endpoint(self.ports.native, self.version, {"user": USER}, self.context.password)

    async def _read_node_state(self, server: Server) -> NodeState:
        host, place = server.host, self._api_endpoint(server.host)
        tokens = self.members.token_words(host)
        mode = (await api.fetch_state(host, place)).answers.get("mode")
        if mode is None:
            state = "paused" if server.frozen else "down"
            return NodeState(host.name, host.address, state, None, tokens)
        load = (await api.fetch_meters(host, place)).get("load_bytes")
        state = "up" if mode == "NORMAL" else str(mode).lower()
        return NodeState(host.name, host.address, state, None if load is None else int(load), tokens)

    async def _can_log_in(self, host: Host, *well_known: str) -> bool:
        scratch = str(self.scratch(host))
        return await api.can_log_in(
            host, host.address, self.ports.native, scratch, *well_known, encrypted=self.encrypted
        )

    def _api_endpoint(self, host: Host) -> str:
        return f"{api_address(host.address)}:{self.ports.api}"

    async def _prepare(self, host: Host, seed: Host) -> None:
        node = ScyllaNodeConfig(
            address=host.address,
            tokens=self.members.tokens[host.name],
            seed=seed.address,
            ports=self.ports,
            conf=self._conf(host),
            data=self.data[host.name].path,
            salted_password=self.salted_password,
            cluster=self.cluster,
            encrypted=self.encrypted,
            ring_delay=self.options.ring_delay,
            settings=self.options.settings,
        )
        files = {
            "scylla.yaml": scylla_yaml(node),
            "cassandra-rackdc.properties": rackdc_properties(self.options.datacenter),
        }
        await self._write_conf(host, files)
        await self.run_script(host, "password", _KEEP, PASSWORD=self.context.password)

    async def _start(self, host: Host) -> Server:
        options, conf = self.options, self._conf(host)
        argv = scylla_arguments(
            self.programs[host.name],
            conf,
            choose_resources(self.share(host), options.smp, options.memory),
            developer=options.developer_mode,
            alone=options.alone,
        )
        command = self.data[host.name].account_command(*argv, *options.flags, SCYLLA_CONF=str(conf))
        return await self.launch(host, self.program, command, address=host.address, port=self.ports.native)

    async def _join(self, host: Host) -> None:
        self.members.tokens[host.name] = self.members.choose_tokens(self.options.num_tokens)
        await self._reset_data(host)
        await self._prepare(host, self.members.ring[0])
        server = await self._start(host)
        try:
            await self._wait_until_whole(server)
        except BaseException:
            await asyncio.shield(self._end(server))
            raise
        self.members.ring.append(host)

    async def _leave(self, host: Host) -> None:
        (server,) = self.servers_on(host.name)
        await self._tell(host, "/storage_service/decommission")
        self.members.ring.remove(host)
        await self._end(server)
        await self._wait_until_whole(self._live_servers()[0])

    async def _tell(self, host: Host, path: str) -> None:
        try:
            await api.run_operation(host, self._api_endpoint(host), path, self.options.join_within)
        except HostError as error:
            raise HostError(f"service {self.context.name}: {error.message}") from error

    async def is_whole(self) -> bool:
        """Each by its own word."""
        return all(await asyncio.gather(*map(self.is_answering, self._live_servers())))

    async def _clean_up(self, hosts: Sequence[Host]) -> None:
        """One at a time, as the manual asks."""
        for host in hosts:
            await self._tell(host, "/storage_service/cleanup_all")
