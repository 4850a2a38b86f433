"""The nodes of a ring of Cassandra: their first tokens, what they read, how they start and are. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from steelyard.plugin import Command
from steelyard.plugin.host import Host
from steelyard.plugin.service import HostShare, NodeState, Snapshot
from steelyard.services.cassandra import jvm
from steelyard.services.cassandra.config import LOGBACK, CassandraNodeConfig, cassandra_yaml
from steelyard.services.cassandra.manifest import examine
from steelyard.services.cassandra.mirror import Mirror
from steelyard.services.cassandra.plan import RingPlan
from steelyard.services.cassandra.schema import format_replication
from steelyard.services.kit.cql_ring import Tokens, even_tokens, rackdc_properties
from steelyard.services.kit.server import Server

HEARD_OF = 5.0  # seconds that gossip takes, from second to second, to reach everybody; on busy machines, too


@dataclass(frozen=True)
class CassandraNodes:
    """What the nodes of a ring are told.

    Of each host: `conf` is where that lies which its node reads, `share` what it may use. `jmx_password` is
    management's.
    """

    plan: RingPlan
    conf: Callable[[Host], PurePosixPath]
    share: Callable[[Host], HostShare]
    jmx_password: str = field(repr=False)

    def schema(self) -> dict[str, str]:
        """What a new ring has before clients are let in: keyspaces, and how often they and roles are kept."""
        plan, datacenter = self.plan, self.plan.options.datacenter
        copies = {datacenter: plan.replication, **plan.mirror_copies}
        nodes = len(plan.members.ring)
        return {
            "keyspaces": ",".join(plan.options.keyspaces),
            "replication": format_replication(copies),
            "encrypted": "true" if plan.encrypted else "false",
            **({"auth": plan.mirror.role_replication(datacenter, nodes)} if plan.mirror else {}),
        }

    def files(self, host: Host, *, bootstrap: bool = False) -> dict[str, str]:
        """What a node reads, by name. `bootstrap`: it joins a ring that has data."""
        mirror = self._mirror_of(host)
        datacenter = mirror.options.datacenter if mirror else self.plan.options.datacenter
        return {
            "cassandra.yaml": cassandra_yaml(self._config(host, bootstrap)),
            "cassandra-rackdc.properties": rackdc_properties(datacenter),
            "logback.xml": LOGBACK,
            "java.arguments": self._arguments(host, bootstrap),
            "jmx.password": f"{self.jmx_password}\n",
        }

    def command(self, host: Host) -> Command:
        """What starts a node."""
        java, arguments = self.plan.homes[host.name].java, f"@{self.conf(host)}/java.arguments"
        return self.plan.data[host.name].account_command(java, arguments)

    def _config(self, host: Host, bootstrap: bool) -> CassandraNodeConfig:
        plan, mirror = self.plan, self._mirror_of(host)
        return CassandraNodeConfig(
            address=host.address,
            tokens=plan.members.tokens[host.name],
            seeds=self._seeds(),
            ports=plan.ports,
            conf=self.conf(host),
            data=mirror.host_directory(host) / "data" if mirror else plan.data[host.name].path,
            mirrored=plan.mirror is not None,
            bootstrap=bootstrap,
            cluster=plan.cluster,
            encrypted=plan.encrypted,
            has_authentication=plan.options.has_authentication,
            commitlog_sync=plan.options.commitlog_sync,
            settings=plan.options.settings,
        )

    def _mirror_of(self, host: Host) -> Mirror | None:
        return self.plan.mirror if host in self.plan.members.beside else None

    def _seeds(self) -> tuple[str, ...]:
        """Three of a data centre are enough for gossip, however many nodes there are."""
        members = self.plan.members
        return tuple(host.address for host in (*members.ring[:3], *members.beside[:3]))

    def _arguments(self, host: Host, bootstrap: bool) -> str:
        plan, home, share, conf = self.plan, self.plan.homes[host.name], self.share(host), self.conf(host)
        size, data = plan.options.heap or jvm.heap_size(share), plan.data[host.name].path
        delay = self._ring_delay(bootstrap)
        flags = [
            *jvm.module_flags(),
            *jvm.memory_flags(size, share.cores),
            *jvm.behaviour_flags(host.address, conf, data, self._copies_of_roles(), delay),
            *(jvm.bootstrap_flags() if bootstrap else []),
            *(jvm.mirror_flags() if self._mirror_of(host) else []),
            f"-javaagent:{home.lib}/jamm-0.4.0.jar",
            *plan.options.jvm,
            "-cp",
            f"{home.lib}/*:{home.classes}",
        ]
        node = ("steelyard.cassandra.Node", host.address, str(plan.ports.jmx), str(conf))
        return jvm.format_arguments([*flags, *node, *plan.members.addresses])

    def _ring_delay(self, bootstrap: bool) -> float:
        """One that joins waits until all others have heard of it: they send it new rows from then on."""
        delay = self.plan.options.ring_delay
        return max(delay, HEARD_OF) if bootstrap else delay

    def _copies_of_roles(self) -> int:
        """In the first moments of a ring, whatever its data centres: on all nodes of two, so that both have
        them."""
        return len(self.plan.members.hosts) if self.plan.mirror else self.plan.replication


def choose_first_tokens(plan: RingPlan, like: Snapshot | None) -> dict[str, Tokens]:
    """By host: even ones; those of the snapshot that is to be recovered, where it has as many nodes.

    Raises HostError for a snapshot that this ring cannot take.
    """
    if like:
        examine(like, plan.name, plan.version)
    each = plan.options.num_tokens
    tokens = _choose_ring_tokens(plan.members.ring, like, each)
    return {**tokens, **(plan.mirror.tokens(list(tokens.values()), each) if plan.mirror else {})}


def _choose_ring_tokens(hosts: Sequence[Host], like: Snapshot | None, each: int) -> dict[str, Tokens]:
    """A host that was part of the snapshot gets those that it had, since it may still have the files."""
    if like is None or len(like.nodes) != len(hosts):
        return {host.name: own for host, own in zip(hosts, even_tokens(len(hosts), each), strict=True)}
    left = {node.host: tuple(map(int, node.tokens)) for node in like.nodes}
    kept_tokens = {host.name: left.pop(host.name) for host in hosts if host.name in left}
    others = iter(list(left.values()))
    return {host.name: kept_tokens[host.name] if host.name in kept_tokens else next(others) for host in hosts}


def describe_node(
    host: Host, tokens: tuple[str, ...], servers: Iterable[Server], said: Mapping[str, Any] | None
) -> NodeState:
    """What a node says of itself; of one that cannot, what we know: its last words may be there still."""
    there = [server for server in servers if server.host is host]
    has_ended, frozen = any(server.exit is not None for server in there), any(one.frozen for one in there)
    if said is None or frozen or has_ended:
        state = "paused" if frozen and not has_ended else "down"
        return NodeState(host.name, host.address, state, None, tokens)
    state = "up" if said["mode"] == "NORMAL" else str(said["mode"]).lower()
    return NodeState(host.name, host.address, state, int(said["meters"].get("load_bytes", 0)), tokens)
