"""The nodes of a ring of Cassandra: their ports and tokens, what they read, how they start."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from steelyard.plugin.host import Host
from steelyard.services.cassandra import jvm
from steelyard.services.cassandra.config import (
    LOGBACK,
    CassandraNodeConfig,
    CassandraPorts,
    cassandra_yaml,
)
from steelyard.services.cassandra.home import CassandraHome, find_home
from steelyard.services.cassandra.manifest import examine
from steelyard.services.cassandra.mirror import BEGIN, PREPARE, Mirror, format_facts, split_hosts
from steelyard.services.cassandra.options import CassandraOptions
from steelyard.services.cassandra.schema import format_replication
from steelyard.services.cassandra.watch import RingPasswords, RingWatch
from steelyard.services.kit.cql_ring import Tokens, even_tokens, rackdc_properties
from steelyard.services.kit.data import make_data
from steelyard.services.kit.ring import RingService
from steelyard.services.kit.server import Server

HEARD_OF = 5.0  # seconds that gossip takes, from second to second, to reach everybody; on busy machines, too


class CassandraNodes(RingService[CassandraOptions]):
    """The nodes of a ring; what can be done with the ring as a whole is in `services/cassandra.py`.

    `ring` are the hosts that clients use, `mirror` a second data centre where there is one.
    """

    program = "cassandra"
    mirror: Mirror | None = None

    async def configure(self) -> None:
        """Find ports, Java and Cassandra; choose tokens; write what the nodes read."""
        await super().configure()
        hosts = self.context.hosts
        everywhere = (*hosts, *self.context.spare)
        self.ring, self.mirror = split_hosts(hosts, self.options.mirror, self.context.name)
        self.replication = self._replication(len(self.ring))
        ports, self.homes, self.data = await asyncio.gather(
            self._choose_ports(everywhere, 2), self._find_homes(everywhere), make_data(self, hosts)
        )
        self.ports = CassandraPorts(*ports)
        self.tokens = self._first_tokens()
        self.secrets = RingPasswords.from_client_password(self.context.password)
        await asyncio.gather(self._prepare_watch(), *(self._prepare(host) for host in hosts))
        await asyncio.gather(*(self._prepare_mirror(host) for host in self._mirror_hosts()))

    @property
    def has_authentication(self) -> bool:
        """Whether clients must log in."""
        return self.options.authentication == "password"

    async def _find_homes(self, hosts: Sequence[Host]) -> dict[str, CassandraHome]:
        """By host. Those that share the controller's files have the same, so one of them is looked at."""
        places = {host.name: "" if host.shares_files else host.name for host in hosts}
        firsts = {places[host.name]: host for host in reversed(hosts)}
        distinct_homes = await asyncio.gather(
            *(find_home(host, self.scratch(host)) for host in firsts.values())
        )
        homes = dict(zip(firsts, distinct_homes, strict=True))
        return {name: homes[place] for name, place in places.items()}

    async def start(self) -> None:
        """All nodes at once."""
        await asyncio.gather(*(self._start(host) for host in self.context.hosts))

    async def is_answering(self, server: Server) -> bool:
        """It sees all nodes that are to be there, by its own word, and lets clients in."""
        return await self.watch.is_node_ready(server.address, self._live_addresses())

    def _mirror_hosts(self) -> tuple[Host, ...]:
        return self.mirror.hosts if self.mirror else ()

    def _node_hosts(self) -> list[Host]:
        return [*self.ring, *self._mirror_hosts()]

    def _addresses(self) -> list[str]:
        return [host.address for host in self._node_hosts()]

    def _machines(self) -> list[Host]:
        """A host of each; copies of the jars lie in a host's scratch, so these are all looked at."""
        return list({(host.machine, self.homes[host.name].lib): host for host in self._node_hosts()}.values())

    def _live_addresses(self) -> list[str]:
        """Addresses of nodes that nobody has killed or frozen: those that the others must see."""
        return [server.address for server in self._live_servers()]

    def _first_tokens(self) -> dict[str, Tokens]:
        """By host: even ones; those of the snapshot that is to be recovered, where it has as many nodes.

        A host that was part of it gets those that it had, since it may still have the files.
        """
        if like := self.context.snapshot:
            examine(like, self.context.name, self.homes[self.ring[0].name].version)
        tokens = self._choose_tokens(tuple(self.ring))
        each = self.options.num_tokens
        return {**tokens, **(self.mirror.tokens(list(tokens.values()), each) if self.mirror else {})}

    def _choose_tokens(self, hosts: tuple[Host, ...]) -> dict[str, Tokens]:
        like = self.context.snapshot
        if like is None or len(like.nodes) != len(hosts):
            even = even_tokens(len(hosts), self.options.num_tokens)
            return {host.name: own for host, own in zip(hosts, even, strict=True)}
        left = {node.host: tuple(map(int, node.tokens)) for node in like.nodes}
        kept_tokens = {host.name: left.pop(host.name) for host in hosts if host.name in left}
        others = iter(list(left.values()))
        return {
            host.name: kept_tokens[host.name] if host.name in kept_tokens else next(others) for host in hosts
        }

    async def _prepare_watch(self) -> None:
        first = self.context.hosts[0]
        directory = self.scratch(first) / "ring"
        await first.make_directory(directory)
        self.watch = RingWatch(first, directory, self.context.logs, self.homes[first.name], self.ports)
        copies = {self.options.datacenter: self.replication, **(self.mirror.copies if self.mirror else {})}
        schema = {"keyspaces": ",".join(self.options.keyspaces), "replication": format_replication(copies)}
        schema["encrypted"] = "true" if self.encrypted else "false"
        if self.mirror:
            schema["auth"] = self.mirror.role_replication(self.options.datacenter, len(self.ring))
        await self.watch.configure(self.secrets, self.authority, schema, self._addresses())

    async def _prepare(self, host: Host, *, bootstrap: bool = False) -> None:
        mirror = self.mirror if host in self._mirror_hosts() else None
        node = CassandraNodeConfig(
            address=host.address,
            tokens=self.tokens[host.name],
            seeds=self._seeds(),
            ports=self.ports,
            conf=self._conf(host),
            data=mirror.host_directory(host) / "data" if mirror else self.data[host.name].path,
            mirrored=self.mirror is not None,
            bootstrap=bootstrap,
            cluster=self.cluster,
            encrypted=self.encrypted,
            has_authentication=self.has_authentication,
            commitlog_sync=self.options.commitlog_sync,
            settings=self.options.settings,
        )
        files = {
            "cassandra.yaml": cassandra_yaml(node),
            "cassandra-rackdc.properties": rackdc_properties(
                mirror.options.datacenter if mirror else self.options.datacenter
            ),
            "logback.xml": LOGBACK,
            "java.arguments": self._arguments(host, self.homes[host.name], bootstrap),
            "jmx.password": f"{self.secrets.jmx}\n",
        }
        await self._write_conf(host, {**files, **self.authority.issue_files(host.address)})

    async def _prepare_mirror(self, host: Host) -> None:
        """Its place for data, which a former ring may have used; nothing of that is lost."""
        facts = {
            "service": self.context.name,
            "cluster": self.cluster,
            "host": host.name,
            "version": self.homes[host.name].version,
            "datacenter": self.options.mirror.datacenter if self.options.mirror else "",
            "tokens": [str(token) for token in self.tokens[host.name]],
        }
        await self._run_mirror_script(host, PREPARE, FACTS=format_facts(facts))

    async def _run_mirror_script(self, host: Host, script: str, **env: str) -> None:
        if self.mirror:
            known = {"PLACE": str(self.mirror.host_directory(host)), "ACCOUNT": self.data[host.name].account}
            await self.run_script(host, "mirror", script, **known, **env)

    def _seeds(self) -> tuple[str, ...]:
        """Three of a data centre are enough for gossip, however many nodes there are."""
        return tuple(host.address for host in (*self.ring[:3], *self._mirror_hosts()[:3]))

    def _arguments(self, host: Host, home: CassandraHome, bootstrap: bool) -> str:
        share = self.share(host)
        size = self.options.heap or jvm.heap_size(share)
        conf, data, delay = self._conf(host), self.data[host.name].path, self._ring_delay(bootstrap)
        flags = [
            *jvm.module_flags(),
            *jvm.memory_flags(size, share.cores),
            *jvm.behaviour_flags(host.address, conf, data, self._copies_of_roles(), delay),
            *(jvm.bootstrap_flags() if bootstrap else []),
            *(jvm.mirror_flags() if host in self._mirror_hosts() else []),
            f"-javaagent:{home.lib}/jamm-0.4.0.jar",
            *self.options.jvm,
            "-cp",
            f"{home.lib}/*:{home.classes}",
        ]
        node = ("steelyard.cassandra.Node", host.address, str(self.ports.jmx), str(conf))
        return jvm.format_arguments([*flags, *node, *self._addresses()])

    def _ring_delay(self, bootstrap: bool) -> float:
        """One that joins waits until all others have heard of it: they send it new rows from then on."""
        return max(self.options.ring_delay, HEARD_OF) if bootstrap else self.options.ring_delay

    def _copies_of_roles(self) -> int:
        """In the first moments of a ring, whatever its data centres: on all nodes of two, so that both have
        them."""
        return len(self._node_hosts()) if self.mirror else self.replication

    async def _start(self, host: Host) -> Server:
        if host in self._mirror_hosts():
            await self._run_mirror_script(host, BEGIN)
        java, arguments = self.homes[host.name].java, f"@{self._conf(host)}/java.arguments"
        command = self.data[host.name].account_command(java, arguments)
        return await self.launch(host, self.program, command, address=host.address, port=self.ports.native)

    async def is_whole(self) -> bool:
        """Each by its own word, as the watch heard it."""
        return all(
            [await self.watch.is_node_ready(one, self._live_addresses()) for one in self._live_addresses()]
        )
