"""Who is who in a cluster of Ceph: its daemons, on which hosts, at which ports. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.plugin.service import join_host_port
from steelyard.services.ceph.options import CephOptions

_OSD_PORTS = 4  # for clients, for other storage daemons, and two for heartbeats
_SINGLE = ("mon", "mgr", "mds", "rgw")  # of these each host has one at most, at one port
_MANAGERS, _QUORUM = 2, 3


@dataclass(frozen=True, slots=True)
class CephDaemon:
    """A daemon: `kind` is mon, mgr, osd, mds or rgw; `ports` are the first and the last that it may use."""

    kind: str
    name: str
    address: str
    ports: tuple[int, int]

    @property
    def entity(self) -> str:
        """Whom it is for the others."""
        return f"client.rgw.{self.name}" if self.kind == "rgw" else f"{self.kind}.{self.name}"

    @property
    def where(self) -> str:
        """Where it is found by Ceph's second protocol, without the words around it."""
        return f"v2:{join_host_port(self.address, self.ports[0])}"


def count_ports(options: CephOptions) -> int:
    """How many a host needs."""
    return len(_SINGLE) + _OSD_PORTS * options.osds


def count_monitors(options: CephOptions, hosts: int) -> int:
    """As asked; else a quorum where there are hosts for one."""
    return options.mons or (_QUORUM if hosts >= _QUORUM else 1)


def plan_daemons(
    options: CephOptions, addresses: Sequence[str], ports: Sequence[int], at: int
) -> tuple[CephDaemon, ...]:
    """The daemons of the host at this place among all, in the order in which they start.

    `addresses` are those of the hosts that the cluster has to begin with, and then of this one if it joins.
    """
    singles = {
        "mon": count_monitors(options, len(addresses)),
        "mgr": min(_MANAGERS, count_monitors(options, len(addresses))),
        "mds": min(_MANAGERS, len(addresses)) if options.face == "cephfs" else 0,
        "rgw": options.gateways if options.has_gateways else 0,
    }
    single = [
        CephDaemon(kind, _name(kind, at), addresses[at], (ports[turn], ports[turn]))
        for turn, kind in enumerate(_SINGLE)
        if at < singles[kind]
    ]
    storage = plan_storage(options, addresses[at], ports, at)
    return (
        *[one for one in single if one.kind in ("mon", "mgr")],
        *storage,
        *[one for one in single if one.kind in ("mds", "rgw")],
    )


def plan_storage(options: CephOptions, address: str, ports: Sequence[int], at: int) -> tuple[CephDaemon, ...]:
    """The storage daemons of the host at this place: a range of ports for each, of which it chooses."""
    free = sorted(ports[len(_SINGLE) :])
    ranges = [free[turn * _OSD_PORTS : (turn + 1) * _OSD_PORTS] for turn in range(options.osds)]
    return tuple(
        CephDaemon("osd", str(at * options.osds + turn), address, (own[0], own[-1]))
        for turn, own in enumerate(ranges)
    )


def _name(kind: str, at: int) -> str:
    return str(at) if kind == "rgw" else chr(ord("a") + at)
