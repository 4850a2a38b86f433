"""A start in lock step: one instant for all copies on all hosts, and how punctual they were.

Before each trial every host's clock is compared with ours (several round trips, the best counts: Cristian,
"Probabilistic clock synchronization", Distributed Computing 3, 1989). Then an instant is set that lies as far
ahead as making all copies ready takes; each host waits for it by its own clock.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.controller.placement import Workdir
from steelyard.errors import HostLost
from steelyard.hosts.base import ClockOffset, Host
from steelyard.hosts.machine import identify_machine
from steelyard.model.command import Exit
from steelyard.model.keys.uses import Start
from steelyard.model.metric import Mark
from steelyard.units import show

ANSWER_WITHIN = 10.0
"""Seconds in which each host must tell its time, and be ready for the instant once that has come."""
_LEAD_FIRST, _LEAD_LEAST, _LEAD_MOST = 0.3, 0.05, 30.0
_LEAD_OF_A_COPY = 0.02
_SPARE = 3.0


@dataclass(frozen=True, slots=True)
class Instant:
    """The agreed instant (ns of our wall clock), and how the hosts' clocks stand to ours."""

    at: int
    clocks: Mapping[str, ClockOffset]

    def host_time(self, host: Host) -> int:
        """The instant by a host's own clock, in ns."""
        return self.at + round(self.clocks[host.name].offset * 1e9)

    def seconds_left(self) -> float:
        """Until it is there; 0 afterwards."""
        return max(0.0, self.at / 1e9 - time.time())


@dataclass(frozen=True, slots=True)
class Punctuality:
    """How a start went: times in seconds after the agreed instant, by copy.

    `hosts` has the host of each copy, `doubts` by how much each host's clock may be off. Copies of one host
    share its clock, so that there is no doubt between them.
    """

    release_times: Mapping[str, float]
    start_times: Mapping[str, float]
    hosts: Mapping[str, str]
    doubts: Mapping[str, float]

    @property
    def skew(self) -> float:
        """Seconds from the first program's start to the last one's."""
        return _spread(self.start_times.values())

    @property
    def last_copy(self) -> str:
        """The copy that started last."""
        return max(self.start_times, key=self.start_times.__getitem__)

    @property
    def doubt(self) -> float:
        """By how much the skew may be wrong: the doubts of the two hosts between which it lies."""
        first, last = (
            self.hosts[min(self.start_times, key=self.start_times.__getitem__)],
            self.hosts[self.last_copy],
        )
        return self.doubts[first] + self.doubts[last] if first != last else 0.0

    @property
    def min_skew(self) -> float:
        """The least that the skew can have been, whatever the clocks' doubt hides."""
        doubts = {name: self.doubts[host] for name, host in self.hosts.items()}
        latest = max(moment - doubts[name] for name, moment in self.start_times.items())
        earliest = min(moment + doubts[name] for name, moment in self.start_times.items())
        by_host: dict[str, list[float]] = {}
        for name, moment in self.start_times.items():
            by_host.setdefault(self.hosts[name], []).append(moment)
        return max(latest - earliest, *map(_spread, by_host.values()))

    def facts(self) -> dict[str, Any]:
        """For the record."""
        return {
            "skew": self.skew,
            "skew_doubt": self.doubt,
            "release_skew": _spread(self.release_times.values()),
            "clocks_within": max(self.doubts.values()),
            "started": dict(self.start_times),
            "released": dict(self.release_times),
        }

    def marks(self, wanted: Start) -> list[Mark]:
        """Disturbed, where the skew is more than the file allows, beyond what the clocks leave in doubt."""
        if wanted.skew is None or self.min_skew <= wanted.skew:
            return []
        doubt = f" (by clocks known within {show(self.doubt, 's')})" if self.doubt else ""
        late = f"start skew {show(self.skew, 's')}{doubt} is more than {show(wanted.skew, 's')}"
        return [Mark("disturbed", f"{late}; {self.last_copy} started last", "start skew", self.skew, "s")]

    def warnings(self, wanted: Start) -> list[str]:
        """Where nobody can tell whether the skew was more than the file allows."""
        if wanted.skew is None or not self.min_skew <= wanted.skew < self.skew + self.doubt:
            return []
        return [
            "for some trials it is unknown whether copies began within"
            f" {show(wanted.skew, 's')} of each other: their hosts' clocks are too uncertain"
            " (skew_doubt in the journal), so these are not marked"
        ]


class LockStep:
    """Sets the instants of a run, with as much lead as starting has been seen to take."""

    def __init__(self) -> None:
        self._took: float | None = None

    async def schedule_instant(self, workdirs: Sequence[Workdir]) -> Instant:
        """Agree on when these copies begin. Raises HostLost that names a host which does not answer."""
        hosts = list({workdir.host.name: workdir.host for workdir in workdirs}.values())
        clocks = await asyncio.gather(*(_read_clock(host) for host in hosts))
        lead = self._lead(workdirs) + 2 * max(clock.uncertainty for clock in clocks)
        named = {host.name: clock for host, clock in zip(hosts, clocks, strict=True)}
        return Instant(time.time_ns() + round(lead * 1e9), named)

    def record_lead(self, took: float) -> None:
        """Learn how long, in seconds, it took until all copies waited for their instant."""
        self._took = took

    def _lead(self, workdirs: Iterable[Workdir]) -> float:
        count = max(Counter(workdir.host.machine for workdir in workdirs).values())
        guess = _LEAD_FIRST + count * _LEAD_OF_A_COPY
        lead = guess if self._took is None else _SPARE * self._took
        return min(max(lead, _LEAD_LEAST), _LEAD_MOST)


def measure_punctuality(instant: Instant, exits: Mapping[str, tuple[Host, Exit]]) -> Punctuality:
    """How punctual the copies were, by what their hosts saw, in the time of our clock."""
    released, started = {}, {}
    for name, (host, exit_) in exits.items():
        shift = instant.at / 1e9 + instant.clocks[host.name].offset
        started[name] = exit_.started - shift
        released[name] = (exit_.released if exit_.released is not None else exit_.started) - shift
    hosts = {name: host.name for name, (host, _) in exits.items()}
    doubts = {name: instant.clocks[name].uncertainty for name in dict.fromkeys(hosts.values())}
    return Punctuality(released, started, hosts, doubts)


async def _read_clock(host: Host) -> ClockOffset:
    try:
        async with asyncio.timeout(ANSWER_WITHIN):
            told = await host.read_clock_offset()
    except TimeoutError:
        raise HostLost(f"{host.name} did not report its time within {ANSWER_WITHIN:g} s") from None
    # A stand-in on our own machine has our clock, whatever the way there adds to its answer.
    return ClockOffset(0.0, 0.0) if host.machine == identify_machine() else told


def _spread(times: Collection[float]) -> float:
    return max(times) - min(times) if times else 0.0
