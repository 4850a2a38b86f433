"""Guests as hosts: each is reached by SSH over a network of the controller's own, which no event cuts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from steelyard.errors import HostError
from steelyard.hosts.agent.agent import AgentTimeouts
from steelyard.hosts.base import Host
from steelyard.hosts.connect import connect_all
from steelyard.hosts.lease import Lease
from steelyard.hosts.local import LocalHost
from steelyard.hosts.minder.processes import descendants, list_processes, read_proc
from steelyard.hosts.token import Token
from steelyard.transports.guests.uml import BOOT, INIT
from steelyard.transports.namespaces.holders import capture_output, start_holder
from steelyard.transports.namespaces.hosts import SshNode
from steelyard.transports.namespaces.network import BRIDGE, Namespaces, open_bridge
from steelyard.transports.namespaces.sshd import NamespaceSshd
from steelyard.transports.ssh.transport import SshTransport

CONNECT_WITHIN = 60.0  # seconds; a guest's key exchange takes its time on a busy machine
_CONTROL = "control0"
# User-mode Linux gives up a card whose other end is down, so the cable is only taken from the bridge.
_CUT, _HEAL = ("nomaster",), ("master", BRIDGE)
_ROUTE = """\
PATH=$PATH:/usr/sbin:/sbin verb=$1; shift
for address; do ip route $verb "$address/32" || exit; done
"""


class Ground(LocalHost):
    """This machine below its guests, whose whole load is ours."""

    def own_user_time(self) -> float:
        """That of the controller, and of all that runs below the minder."""
        below = descendants(list_processes(), [self.lease.minder_pid])
        return super().own_user_time() + sum(map(_read_user_time, below))


def _read_user_time(pid: int) -> float:
    """Seconds in user mode of a process and of its children that have ended; 0 of one that is gone."""
    words = read_proc(f"/proc/{pid}/stat", 4096).rpartition(b")")[2].split()
    return (int(words[11]) + int(words[13])) / os.sysconf("SC_CLK_TCK") if len(words) > 13 else 0.0


class GuestHost(SshNode):
    """A guest: a kernel of its own on this machine, whose files it has."""

    lost_when_cut = False
    below: Ground

    async def cut(self) -> None:
        """Pull its cable out of the bridge: nothing reaches it, nothing leaves it. Raises HostError."""
        await capture_output(*self.wiring.cable_command(self.name, *_CUT))

    async def heal(self) -> None:
        """Plug it in again; the guest's card saw nothing of it. Raises HostError."""
        await capture_output(*self.wiring.cable_command(self.name, *_HEAL))

    async def block_addresses(self, addresses: Sequence[str]) -> None:
        """Have it reach these addresses no more. Raises HostError."""
        await self._route("replace blackhole", addresses)

    async def unblock_addresses(self, addresses: Sequence[str]) -> None:
        """Have it reach them again. Raises HostError."""
        await self._route("flush type blackhole exact", addresses)

    async def _route(self, verb: str, addresses: Sequence[str]) -> None:
        words = ("sh", "-c", _ROUTE, "sh", verb, *addresses)
        if await self.capture(words) is None:
            raise HostError(f"host {self.name}: its routes to {', '.join(addresses)} could not be changed")

    @property
    def ground(self) -> Host:
        """What carries it, and feels its load."""
        return self.below


def _describe(wiring: Namespaces, name: str) -> dict[str, str]:
    """What people should know of a guest."""
    cut, heal = (" ".join(wiring.cable_command(name, *words)) for words in (_CUT, _HEAL))
    return {"guest": "uml", "cut": cut, "heal": heal}


@asynccontextmanager
async def open_guests(
    lease: Lease, count: int, memory: int, token: Token, log: Path, lost_after: float
) -> AsyncIterator[tuple[GuestHost, ...]]:
    """So many guests, booted and reached; `memory` is in bytes, `lost_after` in seconds. Raises HostError."""
    async with Namespaces.open(lease) as wiring, open_bridge(wiring.hub, _CONTROL) as control:
        sshd, below = NamespaceSshd.make(log, lost_after), Ground(lease)
        variables = {
            "SY_INIT": INIT,
            "SY_BECOME": sshd.node_setup().lines,
            "SY_HOSTS": wiring.list_hosts(count),
        }
        variables |= dict(sshd.node_setup().variables)

        async def boot(number: int) -> GuestHost:
            name, address, door = f"n{number}", str(wiring.network[number]), str(control[number])
            words = (f"{address}/{wiring.network.prefixlen}", f"{door}/{control.prefixlen}", BRIDGE, _CONTROL)
            inside = ("-m", "nsenter", "-t", str(wiring.hub), "-n")
            try:
                await start_holder(lease, inside, BOOT, (name, *words, str(memory)), variables)
            except HostError as error:
                raise HostError(f"guest {name} did not boot: {error.message}", hint=error.hint) from error
            transport = SshTransport(name, sshd.login(door, CONNECT_WITHIN), address=address)
            pace, facts = AgentTimeouts.for_silence(lost_after), _describe(wiring, name)
            host = GuestHost(transport, token, log, shares_files=True, pace=pace, facts=facts)
            host.wiring, host.lease, host.below = wiring, lease, below
            return host

        hosts = await asyncio.gather(*map(boot, range(1, count + 1)))
        async with connect_all(hosts) as reached:
            yield reached
