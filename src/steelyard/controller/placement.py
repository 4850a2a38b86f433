"""Who takes part in a run: the hosts of the site in their roles, and the copies of a workload on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Self

from steelyard.hosts.base import Host, Process, Streams
from steelyard.hosts.mount_point import MountPoint
from steelyard.launchers import find_launcher
from steelyard.model.command import Command
from steelyard.model.experiment import Experiment
from steelyard.model.keys.reference import FOLDER, host_references
from steelyard.model.keys.roles import RoleClaim, Selection, assign_hosts
from steelyard.model.trial import Scalar
from steelyard.spec.placement import Copies, WorkloadPlacement

BY_NAME = frozenset({"srun", "jsrun", "blaunch"})
"""Launchers of schedulers, which know hosts by their names in the scheduler; the others take addresses."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A host in a role: the third client. `name` is how the record calls it: `client-2`."""

    role: str
    index: int
    host: Host

    @property
    def name(self) -> str:
        """Role and index."""
        return f"{self.role}-{self.index}"


@dataclass(frozen=True, slots=True)
class RankLayout:
    """The ranks of a parallel program: on which hosts, and how many on each of them."""

    hosts: tuple[Host, ...]
    ranks_per_host: int

    def launch_command(self, command: Command, launcher_name: str) -> Command:
        """The command that starts all ranks. Raises UnknownName, UsageError."""
        named = [host.name if launcher_name in BY_NAME else _launch_address(host) for host in self.hosts]
        return find_launcher(launcher_name)(command, named, self.total)

    @property
    def total(self) -> int:
        """Of all hosts."""
        return self.ranks_per_host * len(self.hosts)


def _launch_address(host: Host) -> str:
    """An address for a launcher, which would log in at 127.0.0.2 although that is this machine, too."""
    return "127.0.0.1" if host.address.startswith("127.") else host.address


@dataclass(frozen=True, slots=True)
class WorkloadCopy:
    """One simultaneous instance of a workload: the `local`-th on its host, the `number`-th of all, from 0."""

    slot: Slot
    local: int
    number: int
    copies_on_host: int
    ranks: RankLayout | None = None

    @property
    def name(self) -> str:
        """`client-2`, or `client-2.5` where its host runs several."""
        return self.slot.name if self.copies_on_host == 1 else f"{self.slot.name}.{self.local}"

    def folder(self, phase: str) -> str:
        """The name of the folder of its output, in that of its slot."""
        return phase if self.copies_on_host == 1 else f"{phase}.{self.local}"


class Placement:
    """The hosts of a run by role."""

    def __init__(self, groups: Mapping[str, Sequence[Slot]]) -> None:
        self.groups = groups

    @classmethod
    def of(cls, claims: Mapping[str, RoleClaim], hosts: Sequence[Host]) -> Self:
        """Give the site's hosts to the roles. Raises UsageError that names a role that cannot be filled."""
        given = assign_hosts(claims, hosts)
        return cls({role: tuple(Slot(role, n, h) for n, h in enumerate(of)) for role, of in given.items()})

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Every host that some role has, once."""
        return tuple({slot.host.name: slot.host for group in self.groups.values() for slot in group}.values())

    def select_slots(self, selection: Selection) -> tuple[Slot, ...]:
        """The hosts that a selection picks. Raises UsageError."""
        return selection.select(self.groups)

    def slot_names(self, host: Host) -> list[str]:
        """The names of the seats of a host."""
        return [slot.name for group in self.groups.values() for slot in group if slot.host is host]

    def known_values(self, experiment: Experiment) -> dict[str, Scalar]:
        """What is known before anything is deployed: addresses of roles, and the experiment's folder."""
        values: dict[str, Scalar] = {FOLDER: str(experiment.folder)} if experiment.folder else {}
        for role in experiment.roles:
            if seats := self.groups.get(role):
                values |= host_references(role, tuple(slot.host.address for slot in seats))
        return values

    def copies(self, placing: WorkloadPlacement) -> tuple[WorkloadCopy, ...]:
        """The copies of a workload, host by host; with ranks there is one, on the first host."""
        if placing.ranks is not None:
            return (self._make_ranked_copy(self.select_slots(placing.on), placing.ranks),)
        copies: list[WorkloadCopy] = []
        for slot in self.select_slots(placing.on):
            count = slot.host.cores if placing.copies == "cores" else placing.copies
            copies += [WorkloadCopy(slot, local, len(copies) + local, count) for local in range(count)]
        return tuple(copies)

    def _make_ranked_copy(self, seats: Sequence[Slot], each: Copies) -> WorkloadCopy:
        count = min(slot.host.cores for slot in seats) if each == "cores" else each
        return WorkloadCopy(seats[0], 0, 0, 1, RankLayout(tuple(slot.host for slot in seats), count))


def group_by_machine(hosts: Iterable[Host]) -> dict[str, list[Host]]:
    """Hosts by the machine they are, in order: those on one share its clock and its load."""
    by_machine: dict[str, list[Host]] = {}
    for host in {host.name: host for host in hosts}.values():
        by_machine.setdefault(host.machine, []).append(host)
    return by_machine


@dataclass(frozen=True, slots=True)
class Workdir:
    """A copy and its own scratch directory.

    `home` is a directory of the copy on its host. Where its data are in a file system that a service brings,
    `mount` leads there, and `inside` is its directory in it.
    """

    copy: WorkloadCopy
    home: PurePosixPath
    mount: MountPoint | None = None
    inside: PurePosixPath | None = None

    @property
    def scratch(self) -> PurePosixPath:
        """Where the copy works, as it sees it."""
        return self.inside or self.home

    @property
    def host(self) -> Host:
        """The copy's host."""
        return self.copy.slot.host

    def outside(self, path: PurePosixPath) -> PurePosixPath:
        """Where we see what the copy sees at a path."""
        return self.mount.outside(path) if self.mount else path

    async def start(self, command: Command, streams: Streams, *, at: int | None = None) -> Process:
        """Start a program in its directory, as `Host.start` does."""
        if self.mount:
            command = self.mount.enter(command, command.cwd or self.scratch)
        return await self.host.start(command, streams, cwd=self.home, at=at)
