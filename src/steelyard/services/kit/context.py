"""What a service is given for its life."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from steelyard.hosts.base import Host
from steelyard.hosts.unused.ports import PortClaims
from steelyard.model.command import Endpoint
from steelyard.model.keys.reference import Known
from steelyard.model.keys.wrap import Conditions
from steelyard.model.trial import Scalar

if TYPE_CHECKING:  # most runs keep no snapshot
    from steelyard.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class HostShare:
    """What a service may use of a host, beside all else that runs there: cores, and bytes of memory."""

    cores: int
    memory: int


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """What a service is given for its life.

    `name` is that of the experiment file. `hosts` are those of its role, in order; `scratch` is its own empty
    directory on each, by the host's name, removed afterwards. `logs`: where its logs belong in the record.
    `clients` are the addresses that will talk to it. `password` is random, its own each time, never recorded.
    `levels` are the parameters of its cell, `known` what there is to know of roles and of services before it.
    `named_endpoints` are those of them that its options name. `bind` makes its options again with what only
    the service knows (`self.port`). `wrap`: what its servers are put under. `ready_timeout`: seconds until it
    must be ready. `spare` are hosts into which it may grow; they have a `scratch`, too. `shares` are by the
    host's name; a host without an entry is the service's alone. `snapshot` is the snapshot whose data it is
    to have. `mount_on` are the hosts on which it is to be mounted, if it is a file system; they have a
    `scratch`, too. `claims` keep the ports that it chooses, for as long as it is deployed.
    """

    name: str
    hosts: tuple[Host, ...]
    scratch: Mapping[str, PurePosixPath]
    logs: Path
    clients: tuple[str, ...]
    password: str
    ready_timeout: float = 30.0
    spare: tuple[Host, ...] = ()
    shares: Mapping[str, HostShare] = field(default_factory=dict)
    snapshot: Snapshot | None = None
    levels: Mapping[str, Scalar] = field(default_factory=dict)
    known: Known = field(default_factory=dict)
    named_endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    bind: Callable[[Known], Any] | None = None
    wrap: Conditions = field(default_factory=Conditions)
    mount_on: tuple[Host, ...] = ()
    claims: PortClaims = field(default_factory=PortClaims)
