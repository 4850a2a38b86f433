"""Hosts out of one machine: network namespaces, joined by a bridge, that end with the run whatever dies.

Nothing has a name that could stay behind. The bridge lives in a namespace of its own, the hub, and each host
in another; a holder, a process that the run's minder started, keeps each of them. The holders end with the
minder, which ends with the controller, and the kernel then takes namespaces, bridge and cables away.

One cable leads from the controller's namespace to the hub. Its name there, `sy10-27-44`, is that of the
network 10.27.44.0/24: the kernel lets only one run have the name, and so the network.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from ipaddress import IPv4Network
from typing import NamedTuple, Self

from steelyard.errors import HostError
from steelyard.hosts.lease import Lease
from steelyard.transports.namespaces.holders import capture_output, require_programs, start_holder
from steelyard.transports.namespaces.subnet import find_free_subnet

MOST = 250
BRIDGE = "bridge0"
"""The bridge in the hub that joins the hosts."""
HEALED_WITHIN = 10.0
GLANCE = 0.05
NEEDS = ("ip", "unshare", "nsenter", "setpriv")
_TRIES = 10
_CONTROLLER = 254  # the controller's own place in the network

_HUB = """
set -e
ip link set lo up
echo ready
exec sleep infinity >/dev/null 2>&1
"""

# Words: names of the bridge and of its uplink here and there, the controller's pid, its address with the
# length of the prefix.
_BRIDGE = """
set -e
ip link add name "$1" type bridge
ip link add name "$2" master "$1" type veth peer name "$3" netns "$4" || { ip link del "$1"; exit 1; }
nsenter -t "$4" -n ip addr add "$5" dev "$3"
nsenter -t "$4" -n ip link set "$3" up
ip link set "$1" up
ip link set "$2" up
"""

# Words: name, address with the length of the prefix, the hub's pid.
_NODE = """
set -e
echo "$1" >/proc/sys/kernel/hostname
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p -m 700 /run/steelyard
printf %s "$SY_HOSTS" >/run/steelyard/hosts
mount --bind /run/steelyard/hosts /etc/hosts
ip link set lo up
ip link add name eth0 type veth peer name "$1" netns "$3"
ip addr add "$2" dev eth0
ip link set eth0 up
nsenter -t "$3" -n ip link set "$1" master bridge0 up
if [ "$SY_RATE" ]; then
    tc qdisc add dev eth0 root tbf $SY_RATE
    nsenter -t "$3" -n tc qdisc add dev "$1" root tbf $SY_RATE
fi
unset SY_HOSTS SY_RATE
eval "$SY_BECOME"
"""

# A datagram to an address that it does not know has a node ask all others for it, and they note who asks.
# Else those that asked for the node while it was away would wait for their next question, up to a second, and
# be told after the third that there is no route. Where it cannot be sent, that is how it stays.
_ANNOUNCE = """
PATH=$PATH:/usr/sbin:/sbin
ip neigh flush to "$1" && "$2" -I -S -c '
import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", (sys.argv[1], 9))' "$1" || true
"""

# A process that enters a mount namespace begins at its root, so it has to find its directory again.
_ENTER = 'exec nsenter -t {pid} -n -u -m -- sh -c \'cd "$0" && exec "$@"\' "$PWD" "$@"'


class NamespaceNode(NamedTuple):
    """A host to be: its name, its address, and the pid of the process that holds its namespaces."""

    name: str
    address: str
    pid: int

    @property
    def prefix(self) -> tuple[str, ...]:
        """Words that, before a command, have it run in there, in the same directory."""
        return ("sh", "-c", _ENTER.format(pid=self.pid), "sh")


class NodeSetup(NamedTuple):
    """What a node becomes: shell lines that say `ready` and end in an exec, with variables that they use.

    They run as root, with `set -e`; `$2` is the node's address, with the length of its prefix.
    """

    lines: str
    variables: tuple[tuple[str, str], ...] = ()


IDLE = NodeSetup("unset SY_BECOME; echo ready; exec sleep infinity >/dev/null 2>&1")


class Namespaces:
    """The hosts and their cables: `async with Namespaces.open(lease) as made: await made.add(4)`."""

    def __init__(self, lease: Lease, network: IPv4Network, hub: int) -> None:
        self.network, self.nodes = network, tuple[NamespaceNode, ...]()
        self._lease, self.hub = lease, hub

    @classmethod
    @asynccontextmanager
    async def open(cls, lease: Lease) -> AsyncIterator[Self]:
        """A hub with a network of its own and no nodes yet, held by the lease's minder. Raises HostError."""
        check_namespaces(NEEDS)
        hub = await start_holder(lease, ("-n",), _HUB, (), {})
        async with open_bridge(hub, BRIDGE) as network:
            yield cls(lease, network, hub)

    def addresses(self, count: int) -> dict[str, str]:
        """Names and addresses of so many nodes: n1 has the first."""
        return {f"n{n}": str(self.network[n]) for n in range(1, count + 1)}

    def list_hosts(self, count: int) -> str:
        """What /etc/hosts says in so many nodes."""
        hosts = {**self.addresses(count), os.uname().nodename: self.controller}
        lines = [f"{address} {name}\n" for name, address in hosts.items()]
        return "".join(("127.0.0.1 localhost\n", "::1 localhost\n", *lines))

    @property
    def controller(self) -> str:
        """The address at which the nodes see the controller."""
        return str(self.network[_CONTROLLER])

    async def add(self, count: int, inside: NodeSetup = IDLE, *, rate: float | None = None) -> None:
        """Make so many nodes, all at once. `rate`, in bytes per second, limits what each sends and receives.

        Raises HostError.
        """
        check_namespaces(("tc",) if rate else ())
        addresses = self.addresses(count)
        variables = {
            "SY_HOSTS": self.list_hosts(count),
            "SY_RATE": _shaping_arguments(rate) if rate else "",
            "SY_BECOME": inside.lines,
            **dict(inside.variables),
        }
        made = [asyncio.ensure_future(self._start_node(*each, variables)) for each in addresses.items()]
        try:
            self.nodes = tuple(await asyncio.gather(*made))
        finally:
            for node in made:
                node.cancel()

    async def cut(self, name: str) -> None:
        """Pull a node's cable out of the hub: nothing reaches it, nothing leaves it. Raises HostError."""
        await capture_output(*self.cable_command(name, "down"))

    async def block_addresses(self, name: str, addresses: Iterable[str]) -> None:
        """Have a node send nothing to these addresses. Raises HostError."""
        for address in addresses:
            await capture_output(
                *_nsenter(self._holder(name), "ip", "route", "replace", "blackhole", f"{address}/32")
            )

    async def unblock_addresses(self, name: str, addresses: Iterable[str]) -> None:
        """Have it send to them again; nothing happens where it does. Raises HostError."""
        for address in addresses:
            words = ("ip", "route", "flush", "type", "blackhole", "exact", f"{address}/32")
            await capture_output(*_nsenter(self._holder(name), *words))

    async def heal(self, name: str) -> None:
        """Plug it in again; returns when all know, which takes up to a second. Raises HostError."""
        await capture_output(*self.cable_command(name, "up"))
        pid = self._holder(name)
        deadline = time.monotonic() + HEALED_WITHIN
        for holder, device in ((self.hub, name), (pid, "eth0")):
            while "state UP" not in await capture_output(
                *_nsenter(holder, "ip", "-o", "link", "show", "dev", device)
            ):
                if time.monotonic() > deadline:
                    raise HostError(
                        f"host {name}: its link was reconnected but did not come up within "
                        f"{HEALED_WITHIN:g} s"
                    )
                await asyncio.sleep(GLANCE)
        await capture_output(*_nsenter(pid, *self.announcement))

    def _holder(self, name: str) -> int:
        return next(node.pid for node in self.nodes if node.name == name)

    @property
    def announcement(self) -> tuple[str, ...]:
        """The command by which a node that was away tells all others where it is."""
        return ("sh", "-c", _ANNOUNCE, "sh", self.controller, sys.executable)

    def cable_command(self, name: str, *words: str) -> tuple[str, ...]:
        """The command that does something to a node's cable (`up`, `down`), for people too."""
        return _nsenter(self.hub, "ip", "link", "set", name, *words)

    async def _start_node(self, name: str, address: str, variables: Mapping[str, str]) -> NamespaceNode:
        words = (name, f"{address}/{self.network.prefixlen}", str(self.hub))
        try:
            holder = await start_holder(self._lease, ("-n", "-u", "-m"), _NODE, words, variables)
        except HostError as error:
            raise HostError(f"host {name}: {error.message}", hint=error.hint) from error
        return NamespaceNode(name, address, holder)


@asynccontextmanager
async def open_bridge(hub: int, name: str) -> AsyncIterator[IPv4Network]:
    """A bridge in the hub, with a network of its own and a cable to the controller. Raises HostError."""
    uplink = f"up-{name}"
    network = await _make_bridge(hub, name, uplink)
    try:
        yield network
    finally:
        with suppress(HostError):  # it goes with the hub too; this way it is gone when we return
            await capture_output(*_nsenter(hub, "ip", "link", "del", uplink))


async def _make_bridge(hub: int, name: str, uplink: str) -> IPv4Network:
    for _ in range(_TRIES):
        routes = await capture_output("ip", "-4", "route", "show", "table", "all")
        network = find_free_subnet(routes, random.Random())
        address = f"{network[_CONTROLLER]}/{network.prefixlen}"
        words = (name, uplink, _uplink_name(network), str(os.getpid()), address)
        try:
            await capture_output(*_nsenter(hub, "sh", "-c", _BRIDGE, "sh", *words))
            return network
        except HostError as error:
            if "File exists" not in error.message:  # another run was faster with this network
                raise
    raise HostError(
        "no network is available for namespaces; other runs took each free one first", hint="try again"
    )


def _nsenter(holder: int, *argv: str) -> tuple[str, ...]:
    return ("nsenter", "-t", str(holder), "-n", *argv)


def _uplink_name(network: IPv4Network) -> str:
    return "sy" + "-".join(str(network.network_address).split(".")[:3])


def _shaping_arguments(rate: float) -> str:
    """Arguments of tc-tbf(8). The bucket holds 10 ms, and at least one large segment."""
    burst = max(int(rate / 100), 1 << 16)
    return f"rate {int(rate * 8)}bit burst {burst}b latency 50ms"


def check_namespaces(programs: Sequence[str] = NEEDS) -> None:
    """Raise HostError where this machine cannot have any: without root, or without these programs."""
    if os.geteuid() != 0:
        raise HostError(
            "namespaces need root", hint="run as root, or use `--site local:N`, which needs no root"
        )
    hint = "install the packages iproute2 and util-linux, or use `--site local:N`, which needs neither"
    require_programs("namespaces", programs, hint)
