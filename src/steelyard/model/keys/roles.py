"""Roles: named groups of a site's hosts, and how a file picks some of them.

`roles: {server: 1, client: 8}` takes nine hosts of the site in its order; `on: "client[:4]"` picks the first
four clients. A file without roles has one, `host`, with every host of the site.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeVar

from steelyard.errors import UsageError

DEFAULT_ROLE = "host"
Count = int | Literal["all"]
HostT = TypeVar("HostT")
_FORM = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)\s*(?:\[\s*(\d*)\s*(:?)\s*(\d*)\s*\])?\s*", re.ASCII)
_EXAMPLES = "for example client, client[0], client[:4] or client[4:]"


@dataclass(frozen=True, slots=True)
class Selection:
    """Some hosts of a role: those from `first` up to, not including, `last` (None: to the end)."""

    role: str
    first: int = 0
    last: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `client[:4]`. Raises UsageError."""
        form = _FORM.fullmatch(text)
        if not form:
            raise UsageError(f"'{text:.60}' is not a selection of hosts; {_EXAMPLES}")
        role, first, colon, last = form.groups()
        if "[" not in text:
            return cls(role)
        if not colon:
            if not first:
                raise UsageError(f"'{text:.60}' lacks a number in its brackets; {_EXAMPLES}")
            return cls(role, int(first), int(first) + 1)
        selection = cls(role, int(first or 0), int(last) if last else None)
        if selection.last is not None and selection.last <= selection.first:
            raise UsageError(f"'{text:.60}' selects no host; {_EXAMPLES}")
        return selection

    def select(self, hosts: Mapping[str, Sequence[HostT]]) -> tuple[HostT, ...]:
        """The hosts it picks from those of each role. Raises UsageError when there are not that many."""
        group = hosts[self.role]
        if self.first >= len(group) or (self.last or 0) > len(group):
            wanted = self.last if self.last is not None else self.first + 1
            raise UsageError(f"'{self}' needs {wanted} hosts of role '{self.role}', which has {len(group)}")
        return tuple(group[self.first : self.last])

    def has_overlap(self, other: Selection) -> bool:
        """Whether both may pick the same host of a role."""
        ends = self.last or math.inf, other.last or math.inf
        return self.role == other.role and self.first < ends[1] and other.first < ends[0]

    def __str__(self) -> str:
        if self.last == self.first + 1:
            return f"{self.role}[{self.first}]"
        whole = self.first == 0 and self.last is None
        return self.role if whole else f"{self.role}[{self.first or ''}:{self.last or ''}]"


@dataclass(frozen=True, slots=True)
class RoleClaim:
    """How many hosts a role wants, and whose it shares, where it does not get hosts of its own."""

    hosts: Count
    shares: str | None = None


def count_needed_hosts(roles: Mapping[str, RoleClaim]) -> int | None:
    """How many hosts a site must give; None when a role takes all there are."""
    own = [claim.hosts for claim in roles.values() if claim.shares is None]
    numbers = [count for count in own if count != "all"]
    return sum(numbers) if len(numbers) == len(own) else None


def count_min_hosts(roles: Mapping[str, RoleClaim]) -> int:
    """The fewest hosts that fill all roles."""
    return sum(1 if claim.hosts == "all" else claim.hosts for claim in roles.values() if claim.shares is None)


def assign_hosts(roles: Mapping[str, RoleClaim], hosts: Sequence[HostT]) -> dict[str, tuple[HostT, ...]]:
    """The hosts of each role, in the site's order. Raises UsageError that names what cannot be filled."""
    assignment: dict[str, tuple[HostT, ...]] = {}
    left = list(hosts)
    reserved = sum(s.hosts for s in roles.values() if s.shares is None and s.hosts != "all")
    for name, claim in roles.items():
        if claim.shares is None:
            count = len(hosts) - reserved if claim.hosts == "all" else claim.hosts
            if count > len(left) or count < 1:
                raise _shortage_error(name, claim.hosts, reserved, len(hosts))
            assignment[name], left = tuple(left[:count]), left[count:]
    for name, claim in roles.items():
        if claim.shares is not None:
            assignment[name] = _share_hosts(name, claim, assignment[claim.shares])
    return assignment


def _share_hosts(name: str, claim: RoleClaim, group: tuple[HostT, ...]) -> tuple[HostT, ...]:
    count = len(group) if claim.hosts == "all" else claim.hosts
    if count > len(group):
        raise UsageError(
            f"role '{name}' needs {count} hosts of role '{claim.shares}', which has {len(group)}"
        )
    return group[:count]


def _shortage_error(name: str, count: Count, reserved: int, there: int) -> UsageError:
    wanted = f"{reserved}" if count != "all" else f"more than {reserved}"
    hint = (
        "choose a site with more hosts (--site local:N starts N on this machine), or lower the role's number"
    )
    return UsageError(
        f"role '{name}' cannot be filled: the roles need {wanted} hosts, the site has {there}", hint=hint
    )
