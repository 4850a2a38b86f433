"""Virtual machines of this machine: hosts with a kernel, a network and a boot of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from steelyard.plugin import Duration, Size
from steelyard.plugin.host import Host
from steelyard.plugin.site import Capability, Site, SiteOptions
from steelyard.plugin.transport import Lease, Token
from steelyard.transports.namespaces.network import MOST, NEEDS

_CAPABILITIES: frozenset[Capability] = frozenset(
    {"root", "shared-files", "cut-network", "part-network", "kill-hosts", "pause-hosts"}
)
_CAVEATS = {
    "uml": "site guests: guests of User-mode Linux are programs of this machine; a system call takes"
    " 100 times as long; their figures say nothing about virtual machines on hardware",
    "qemu": "site guests: where the fact `guest` of a host says `qemu (emulated)`, no processor ran it; its"
    " figures say nothing about virtual machines on hardware",
}


class GuestsOptions(SiteOptions):
    """How many guests this machine boots, of which kind, and how large they are."""

    kind: Literal["uml", "qemu"] = Field(
        "uml", description="`uml`: programs of this machine; `qemu`: virtual machines, which can be saved"
    )
    hosts: int = Field(2, ge=1, le=MOST, description="Number of guests")
    cores: int = Field(1, ge=1, le=64, description="Cores of each guest; more than one with `kind: qemu`")
    memory: Size = Field(Size(1 << 30), ge=64 << 20, description="Memory of each guest, for example 1GiB")
    disk: Size = Field(
        Size(8 << 30),
        ge=16 << 20,
        description="Size of each guest's disk, a file beside the record that takes what is written",
    )
    lost_after: Duration = Field(
        Duration(60.0), ge=1, le=600, description="Time without an answer after which a guest counts as lost"
    )

    @model_validator(mode="after")
    def _check_cores(self) -> Self:
        if self.cores > 1 and self.kind == "uml":
            raise ValueError("cores: a guest of User-mode Linux has one; use `kind: qemu` for more")
        return self


class Guests(Site[GuestsOptions]):
    """Virtual machines of this machine, connected by a bridge. Requires root on Linux.

    `guests:3` boots three guests of User-mode Linux, n1 to n3, in about three seconds: each has a Linux
    kernel, one core and a network of its own, and the files of this machine. They can be cut off during a
    trial without being lost, as Steelyard reaches them over a second network. A system call takes 100 times
    as long as on hardware: use them to try what several machines do, not how fast. Two guests must not write
    to the same file. Foreign load is judged on the machine below. Everything is gone when the run ends,
    however it ends.

    `guests:3:qemu` (`kind: qemu`) boots virtual machines of QEMU. They run by KVM where a guest really booted
    with it on this machine, and are emulated elsewhere (programs take two to nine times as long); the
    record's fact `guest` says which. They take a kernel of this machine from /boot, and its files by NFS, so
    its root must have file handles (ext4, XFS, Btrfs). They can be saved to a file and go on from there: see
    `checkpoint_host`.
    """

    Options = GuestsOptions
    install_policy = "here"
    needs = (*NEEDS, "linux.uml", "mkfs.ext4", "sshd")
    examples = ({"hosts": 3}, {"hosts": 2, "memory": "512MiB"}, {"hosts": 2, "kind": "qemu", "cores": 2})

    @classmethod
    def parse_shorthand(cls, argument: str) -> Mapping[str, Any]:
        """`guests:3` is three guests; `guests:3:qemu` are three of that kind."""
        count, chosen, kind = argument.partition(":")
        options = super().parse_shorthand(count)
        return {**options, "kind": kind} if chosen else options

    def size(self) -> int:
        """As many as were asked for."""
        return self.options.hosts

    def capabilities(self) -> frozenset[Capability]:
        """Root is root in a guest; the files are this machine's."""
        saved: set[Capability] = {"checkpoint-hosts"} if self.options.kind == "qemu" else set()
        return _CAPABILITIES | saved

    def silence_limit(self) -> float:
        """As was asked for."""
        return self.options.lost_after

    def warnings(self) -> tuple[str, ...]:
        """What the figures do not say."""
        return (_CAVEATS[self.options.kind],)

    async def find_obstacles(self) -> list[str]:
        """What is not installed here; nothing is booted."""
        from steelyard.transports.guests.opening import list_obstacles

        return list_obstacles(self.options.kind)

    def lease(
        self, token: Token, log: Path, hosts: int | None
    ) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """Guests that the run's minder boots and ends."""
        return self._lease(token, log, hosts or self.options.hosts)

    @asynccontextmanager
    async def _lease(self, token: Token, log: Path, hosts: int) -> AsyncIterator[tuple[Host, ...]]:
        from steelyard.transports.guests.opening import GuestSizes, open_guests

        options = self.options
        sizes = GuestSizes(options.cores, int(options.memory), int(options.disk), float(options.lost_after))
        async with (
            Lease.open(token, log=log) as lease,
            open_guests(lease, options.kind, hosts, token, log, sizes) as reached,
        ):
            yield reached
