"""The guests of a run, with all that they share: networks, an sshd's keys, a place for their disks."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import IPv4Network
from pathlib import Path
from typing import NamedTuple

from steelyard.errors import HostError
from steelyard.hosts.agent.agent import AgentTimeouts
from steelyard.hosts.connect import connect_all
from steelyard.hosts.lease import Lease
from steelyard.hosts.token import Token
from steelyard.transports.guests.guest import BootScript, Guest
from steelyard.transports.guests.hosts import Ground, GuestHost, QemuGuestHost
from steelyard.transports.guests.kind import DISK, GuestKind, GuestPlace
from steelyard.transports.guests.qemu import QemuGuest, check_qemu, open_qemu
from steelyard.transports.guests.uml import check_uml, open_uml
from steelyard.transports.namespaces.network import BRIDGE, Namespaces, check_namespaces, open_bridge
from steelyard.transports.namespaces.sshd import NamespaceSshd, check_sshd
from steelyard.transports.ssh.transport import SshTransport

CONNECT_WITHIN = 60.0  # seconds; a guest's key exchange takes its time on a busy machine
_CONTROL = "control0"


class _Maker(NamedTuple):
    """What a kind of guests is made by: `check` raises HostError where this machine lacks something."""

    check: Callable[[], None]
    open: Callable[[Lease, GuestPlace, int], Awaitable[GuestKind]]
    host: type[GuestHost] = GuestHost
    guest: type[Guest] = Guest


_MAKERS = {
    "uml": _Maker(check_uml, open_uml),
    "qemu": _Maker(check_qemu, open_qemu, QemuGuestHost, QemuGuest),
}


class GuestSizes(NamedTuple):
    """Of each guest: cores, bytes of memory and of its disk, seconds of silence after which it is lost."""

    cores: int
    memory: int
    disk: int
    lost_after: float


class _Common(NamedTuple):
    """What all guests of a run share; `disks` is the directory of their disks, and of saved states."""

    kind: GuestKind
    lease: Lease
    wiring: Namespaces
    control: IPv4Network
    sshd: NamespaceSshd
    token: Token
    log: Path
    disks: Path
    sizes: GuestSizes


def list_obstacles(kind: str) -> list[str]:
    """What keeps guests of a kind from booting here, each with what to do about it."""
    checks = (check_namespaces, check_sshd, _MAKERS[kind].check)
    return [said for check in checks if (said := _explain(check))]


def _explain(check: Callable[[], object]) -> str:
    try:
        check()
    except HostError as error:
        return f"{error.message}; {error.hint}"
    return ""


@asynccontextmanager
async def open_guests(
    lease: Lease, kind: str, count: int, token: Token, log: Path, sizes: GuestSizes
) -> AsyncIterator[tuple[GuestHost, ...]]:
    """So many guests of a kind, `uml` or `qemu`, booted and reached. Raises HostError."""
    maker = _MAKERS[kind]
    maker.check()
    disks = log.absolute().with_name(f"disks-{secrets.token_hex(4)}")
    await lease.make_scratch(disks)
    async with Namespaces.open(lease) as wiring, open_bridge(wiring.hub, _CONTROL) as control:
        made = await maker.open(lease, GuestPlace(wiring.hub, control, _CONTROL, disks), sizes.cores)
        sshd = NamespaceSshd.make(log, sizes.lost_after, temporary=str(DISK / "tmp"))
        common = _Common(made, lease, wiring, control, sshd, token, log, disks, sizes)
        names = wiring.list_hosts(count)
        hosts = [_make_host(common, maker, number, names) for number in range(1, count + 1)]
        async with connect_all(hosts) as reached:
            yield reached


def _make_host(common: _Common, maker: _Maker, number: int, names: str) -> GuestHost:
    """The guest of a number, not yet booted; `names` is what /etc/hosts says in it."""
    name, networks = f"n{number}", (common.wiring.network, common.control)
    address, door = (str(network[number]) for network in networks)
    way = SshTransport(name, common.sshd.login(door, CONNECT_WITHIN), address=address)
    host = maker.host(
        way,
        common.token,
        common.log,
        shares_files=True,
        scratch=DISK,
        pace=AgentTimeouts.for_silence(common.sizes.lost_after),
    )
    host.wiring, host.lease, host.below, host.way = common.wiring, common.lease, Ground(common.lease), way
    console = common.log.with_name(f"{name}.console")
    host.guest = maker.guest(
        common.lease, name, common.wiring.hub, _boot_script(common, number, names), console
    )
    host.facts = {"guest": common.kind.name, **host.describe_cable()}
    return host


def _boot_script(common: _Common, number: int, names: str) -> BootScript:
    network, control, sizes = common.wiring.network, common.control, common.sizes
    name, (address, door) = (
        f"n{number}",
        (f"{each[number]}/{each.prefixlen}" for each in (network, control)),
    )
    hardware = ":".join(f"{byte:02x}" for byte in network[number].packed)  # no other run has this address
    words = (name, address, door, BRIDGE, _CONTROL, str(sizes.memory), hardware, str(sizes.disk))
    setup = common.sshd.node_setup()
    given = {"SY_INIT": common.kind.init_script(), "SY_BECOME": setup.lines, "SY_HOSTS": names}
    variables = {**common.kind.variables, **given, **dict(setup.variables)}
    return BootScript(common.kind.boot_script(), words, variables, common.disks / name)
