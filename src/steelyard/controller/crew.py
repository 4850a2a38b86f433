"""Who takes part in a run: the hosts of the site in their roles, and the copies of a workload on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Self

from steelyard.launchers import launcher
from steelyard.model.command import Command
from steelyard.model.experiment import Experiment
from steelyard.model.reference import FOLDER, of_hosts
from steelyard.model.roles import Claim, Selection, assigned
from steelyard.model.trial import Scalar
from steelyard.remote.base import Host
from steelyard.spec.placing import Copies, Placing

BY_NAME = frozenset({"srun", "jsrun", "blaunch"})
"""Launchers of schedulers, which know hosts by their names in the scheduler; the others take addresses."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A host in a role: the third client. `name` is how the record calls it: `client-2`."""

    role: str
    index: int
    host: Host

    @property
    def name(self) -> str:
        """Role and index."""
        return f"{self.role}-{self.index}"


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of a parallel program: on which hosts, and how many on each of them."""

    hosts: tuple[Host, ...]
    each: int

    def started(self, command: Command, launcher_name: str) -> Command:
        """The command that starts all ranks. Raises UnknownName, UsageError."""
        named = [host.name if launcher_name in BY_NAME else _reached_at(host) for host in self.hosts]
        return launcher(launcher_name)(command, named, self.each * len(self.hosts))


def _reached_at(host: Host) -> str:
    """An address for a launcher, which would log in at 127.0.0.2 although that is this machine, too."""
    return "127.0.0.1" if host.address.startswith("127.") else host.address


@dataclass(frozen=True, slots=True)
class Copy:
    """One simultaneous instance of a workload: the `local`-th on its host, the `number`-th of all, from 0."""

    seat: Seat
    local: int
    number: int
    of_host: int
    ranks: Ranks | None = None

    @property
    def name(self) -> str:
        """`client-2`, or `client-2.5` where its host runs several."""
        return self.seat.name if self.of_host == 1 else f"{self.seat.name}.{self.local}"

    def folder(self, phase: str) -> str:
        """The name of the folder of its output, in that of its seat."""
        return phase if self.of_host == 1 else f"{phase}.{self.local}"


class Crew:
    """The hosts of a run by role."""

    def __init__(self, groups: Mapping[str, Sequence[Seat]]) -> None:
        self.groups = groups

    @classmethod
    def of(cls, claims: Mapping[str, Claim], hosts: Sequence[Host]) -> Self:
        """Give the site's hosts to the roles. Raises UsageError that names a role that cannot be filled."""
        given = assigned(claims, hosts)
        return cls({role: tuple(Seat(role, n, h) for n, h in enumerate(of)) for role, of in given.items()})

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Every host that some role has, once."""
        return tuple({seat.host.name: seat.host for group in self.groups.values() for seat in group}.values())

    def seats(self, selection: Selection) -> tuple[Seat, ...]:
        """The hosts that a selection picks. Raises UsageError."""
        return selection.of(self.groups)

    def roles_of(self, host: Host) -> list[str]:
        """The names of the seats of a host."""
        return [seat.name for group in self.groups.values() for seat in group if seat.host is host]

    def known(self, experiment: Experiment) -> dict[str, Scalar]:
        """What is known before anything is deployed: addresses of roles, and the experiment's folder."""
        found: dict[str, Scalar] = {FOLDER: str(experiment.folder)} if experiment.folder else {}
        for role in experiment.roles:
            if seats := self.groups.get(role):
                found |= of_hosts(role, tuple(seat.host.address for seat in seats))
        return found

    def copies(self, placing: Placing) -> tuple[Copy, ...]:
        """The copies of a workload, host by host; with ranks there is one, on the first host."""
        if placing.ranks is not None:
            return (self._with_ranks(self.seats(placing.on), placing.ranks),)
        found: list[Copy] = []
        for seat in self.seats(placing.on):
            count = seat.host.cores if placing.copies == "cores" else placing.copies
            found += [Copy(seat, local, len(found) + local, count) for local in range(count)]
        return tuple(found)

    def _with_ranks(self, seats: Sequence[Seat], each: Copies) -> Copy:
        count = min(seat.host.cores for seat in seats) if each == "cores" else each
        return Copy(seats[0], 0, 0, 1, Ranks(tuple(seat.host for seat in seats), count))


def machines(hosts: Iterable[Host]) -> dict[str, list[Host]]:
    """Hosts by the machine they are, in order: those on one share its clock and its load."""
    found: dict[str, list[Host]] = {}
    for host in {host.name: host for host in hosts}.values():
        found.setdefault(host.machine, []).append(host)
    return found


@dataclass(frozen=True, slots=True)
class Berth:
    """A copy and its own scratch directory."""

    copy: Copy
    scratch: PurePosixPath

    @property
    def host(self) -> Host:
        """The copy's host."""
        return self.copy.seat.host
