"""Guests as hosts: each is reached by SSH over a network of the controller's own, which no event cuts."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import PurePosixPath

from steelyard.errors import HostDown, HostError, HostLost
from steelyard.hosts.base import Host
from steelyard.hosts.local import LocalHost
from steelyard.hosts.minder.processes import descendants, list_processes, read_proc
from steelyard.hosts.shell import ShellHost
from steelyard.transports.guests.guest import Guest
from steelyard.transports.guests.kind import DISK
from steelyard.transports.guests.qemu import QemuGuest
from steelyard.transports.namespaces.holders import capture_output
from steelyard.transports.namespaces.hosts import SshNode
from steelyard.transports.namespaces.network import BRIDGE
from steelyard.transports.ssh.transport import SshTransport

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
    _blocked: frozenset[str] = frozenset()

    async def connect(self) -> None:
        """Boot it where it does not run, and reach it; see `ShellHost`. What was blocked is blocked again."""
        if not self.guest.is_running:
            await self.guest.boot()
        self._begin_watching()
        await super().connect()
        if self._blocked:
            await self._route("replace blackhole", self._blocked)

    async def leave(self) -> None:
        """End everything there; see `ShellHost`."""
        self._stop_watching()
        await super().leave()

    async def make_scratch(self, path: PurePosixPath) -> None:
        """Make a marked directory; see `Host`."""
        await super().make_scratch(path)
        if path.is_relative_to(DISK):
            await self.sync()  # a kill must not take the marker, by which we know it again

    async def remove_scratch(self, path: PurePosixPath) -> None:
        """Remove it, its marker last."""
        await (ShellHost if path.is_relative_to(DISK) else SshNode).remove_scratch(self, path)

    async def tell_minder(self, path: PurePosixPath) -> None:
        """Of a directory on this machine's files; those on its own disk go with that, whatever happens."""
        if not path.is_relative_to(DISK):
            await super().tell_minder(path)

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

    def _begin_watching(self) -> None:
        self._watch = asyncio.create_task(self._watch_guest())

    def _stop_watching(self) -> None:
        if self._watch:
            self._watch.cancel()

    def _lose(self, error: HostLost) -> None:
        self.give_up(error)
        self.way.abort()

    def describe_cable(self) -> dict[str, str]:
        """The commands that pull it out and plug it in, for people."""
        commands = {"cut": _CUT, "heal": _HEAL}
        return {
            name: " ".join(self.wiring.cable_command(self.name, *words)) for name, words in commands.items()
        }

    async def cut(self) -> None:
        """Pull its cable out of the bridge: nothing reaches it, nothing leaves it. Raises HostError."""
        await capture_output(*self.wiring.cable_command(self.name, *_CUT))

    async def heal(self) -> None:
        """Plug it in again; the guest's card saw nothing of it, and is told. Raises HostError."""
        await capture_output(*self.wiring.cable_command(self.name, *_HEAL))
        with suppress(HostDown):
            await self.capture(self.wiring.announcement)

    async def block_addresses(self, addresses: Sequence[str]) -> None:
        """Have it reach these addresses no more, also when it is booted again. Raises HostError."""
        self._blocked |= {*addresses}
        with suppress(HostDown):
            await self._route("replace blackhole", addresses)

    async def unblock_addresses(self, addresses: Sequence[str]) -> None:
        """Have it reach them again. Raises HostError."""
        self._blocked -= {*addresses}
        with suppress(HostDown):
            await self._route("flush type blackhole exact", addresses)

    async def _route(self, verb: str, addresses: Iterable[str]) -> None:
        words = ("sh", "-c", _ROUTE, "sh", verb, *addresses)
        if await self.capture(words) is None:
            raise HostError(f"host {self.name}: its routes to {', '.join(addresses)} could not be changed")

    @property
    def ground(self) -> Host:
        """What carries it, and feels its load."""
        return self.below


class QemuGuestHost(GuestHost):
    """A guest of QEMU, which can be saved to a file, ended, and go on: a `HostCheckpointable`."""

    guest: QemuGuest
    _clock: asyncio.Task[None] | None = None

    async def checkpoint_host(self) -> int:
        """Stop it and save it; see `HostCheckpointable`."""
        self._stop_watching()
        try:
            return await self.guest.save()
        except HostError as error:
            self._begin_watching()
            raise HostError(f"host {self.name}: {error.message}", hint=error.hint) from error

    async def restore_host(self) -> None:
        """Have it go on; see `HostCheckpointable`.

        Its clock stood still, and is set as soon as its agent hears us: up to some seconds later, as our
        connection repeats ever more seldom what nobody acknowledges.
        """
        if not self.guest.saved:
            return
        try:
            await self.guest.restore()
        except HostError as error:
            self._lose(HostLost(f"host {self.name} is lost: {error.message}", hint=error.hint))
            raise
        self._begin_watching()
        self._clock = asyncio.create_task(self._set_clock())

    async def _set_clock(self) -> None:
        with suppress(HostError):
            await self.check()  # so that the time is not read before it is heard
            await self.capture(("date", "--set", f"@{time.time():.6f}"))
