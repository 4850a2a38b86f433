"""Guests as hosts: each is reached by SSH over a network of the controller's own, which no event cuts."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import IPv4Network
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from steelyard.errors import HostDown, HostError, HostLost
from steelyard.hosts.agent.agent import AgentTimeouts
from steelyard.hosts.base import Host
from steelyard.hosts.connect import connect_all
from steelyard.hosts.lease import Lease
from steelyard.hosts.local import LocalHost
from steelyard.hosts.minder.processes import descendants, list_processes, read_proc
from steelyard.hosts.shell import ShellHost
from steelyard.hosts.token import Token
from steelyard.transports.guests.guest import BootScript, Guest
from steelyard.transports.guests.uml import BOOT, DISK, INIT
from steelyard.transports.namespaces.holders import capture_output
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
    """A guest: a kernel of its own on this machine, whose files it has.

    It is booted when it is reached for and does not run. One that ends by itself, after a panic say, is lost
    at once, and booted again by the next `check`.
    """

    lost_when_cut = False
    below: Ground
    guest: Guest
    way: SshTransport
    _watch: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Boot it where it does not run, and reach it; see `ShellHost`."""
        if not self.guest.is_running:
            await self.guest.boot()
        self._watch = asyncio.create_task(self._watch_guest())
        await super().connect()

    async def leave(self) -> None:
        """End everything there; see `ShellHost`."""
        self._stop_watching()
        await super().leave()

    async def make_scratch(self, path: PurePosixPath) -> None:
        """Make a marked directory; see `Host`. One on its own disk goes with that, whatever happens."""
        if path.is_relative_to(DISK):
            await ShellHost.make_scratch(self, path)
            await self.sync()  # a kill must not take the marker, by which we know it again
        else:
            await super().make_scratch(path)

    async def remove_scratch(self, path: PurePosixPath) -> None:
        """Remove it, its marker last."""
        await (ShellHost if path.is_relative_to(DISK) else SshNode).remove_scratch(self, path)

    async def kill_host(self) -> None:
        """Kill the guest; see `HostKillable`."""
        self._stop_watching()
        await self.guest.kill()  # first, as an agent that is only left alone removes its directories
        self._lose(HostDown(f"host {self.name} is down: an event killed it, with all that ran there"))

    async def revive(self) -> None:
        """Boot the guest again; see `HostKillable`."""
        await self.check()

    async def restore_at_end(self, path: str, value: str) -> None:
        """By its agent alone: its kernel is none of this machine's, and gone with it; see `Host`."""
        await ShellHost.restore_at_end(self, path, value)

    async def pause_host(self) -> None:
        """Stop the guest's kernel; see `HostPausable`."""
        self.guest.pause()

    async def continue_host(self) -> None:
        """Let it go on; see `HostPausable`."""
        self.guest.go_on()

    async def _watch_guest(self) -> None:
        try:
            error = await self.guest.wait_for_end()
        except HostError:
            return  # the minder is gone, and all that it started
        self._lose(HostLost(f"host {self.name} is lost: {error.message}", hint=error.hint))

    def _stop_watching(self) -> None:
        if self._watch:
            self._watch.cancel()

    def _lose(self, error: HostLost) -> None:
        self.give_up(error)
        self.way.abort()

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


class GuestSite(NamedTuple):
    """What all guests of a run share: `memory` and `disk` are in bytes, `lost_after` in seconds.

    `disks` is the directory of their disks.
    """

    lease: Lease
    wiring: Namespaces
    control: IPv4Network
    sshd: NamespaceSshd
    token: Token
    log: Path
    disks: Path
    memory: int
    disk: int
    lost_after: float


@asynccontextmanager
async def open_guests(
    lease: Lease, count: int, token: Token, log: Path, *, memory: int, disk: int, lost_after: float
) -> AsyncIterator[tuple[GuestHost, ...]]:
    """So many guests, booted and reached; sizes are in bytes, `lost_after` in seconds. Raises HostError."""
    disks = log.absolute().with_name(f"disks-{secrets.token_hex(4)}")
    await lease.make_scratch(disks)
    async with Namespaces.open(lease) as wiring, open_bridge(wiring.hub, _CONTROL) as control:
        sshd = NamespaceSshd.make(log, lost_after)
        site = GuestSite(lease, wiring, control, sshd, token, log, disks, memory, disk, lost_after)
        names = wiring.list_hosts(count)
        async with connect_all([_make_host(site, number, names) for number in range(1, count + 1)]) as hosts:
            yield hosts


def _make_host(site: GuestSite, number: int, names: str) -> GuestHost:
    """The guest of a number, not yet booted; `names` is what /etc/hosts says in it."""
    name, (address, door) = (
        f"n{number}",
        (str(network[number]) for network in (site.wiring.network, site.control)),
    )
    transport = SshTransport(name, site.sshd.login(door, CONNECT_WITHIN), address=address)
    host = GuestHost(
        transport,
        site.token,
        site.log,
        shares_files=True,
        scratch=DISK,
        pace=AgentTimeouts.for_silence(site.lost_after),
        facts=_describe(site.wiring, name),
    )
    host.wiring, host.lease, host.below, host.way = site.wiring, site.lease, Ground(site.lease), transport
    console = site.log.with_name(f"{name}.console")
    host.guest = Guest(site.lease, name, site.wiring.hub, _boot_script(site, number, names), console)
    return host


def _boot_script(site: GuestSite, number: int, names: str) -> BootScript:
    network, control = site.wiring.network, site.control
    address, door = (f"{each[number]}/{each.prefixlen}" for each in (network, control))
    hardware = ":".join(f"{byte:02x}" for byte in network[number].packed)  # no other run has this address
    name, sizes = f"n{number}", (str(site.memory), str(site.disk))
    words = (name, address, door, BRIDGE, _CONTROL, sizes[0], hardware, str(site.disks / name), sizes[1])
    setup = site.sshd.node_setup()
    variables = {"SY_INIT": INIT, "SY_BECOME": setup.lines, "SY_HOSTS": names, **dict(setup.variables)}
    return BootScript(BOOT, words, variables)
