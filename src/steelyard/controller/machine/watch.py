"""Watch the machines during a trial: sample them, and judge whether something disturbed the trial.

Short trials are watched cheaply: two readings of two small files. One that is expected to last longer than
`LONG` seconds pays for a table of processes before and after it, which names a culprit, and for telemetry.
Hosts on one machine share its load, so a machine is watched once, through the first of them.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from steelyard.controller.deployment.ready_services import ReadyServices
from steelyard.controller.machine.collecting import Collecting
from steelyard.controller.machine.machine_lock import MachineLock
from steelyard.controller.machine.sampler import Sampler
from steelyard.controller.placement import group_by_machine
from steelyard.errors import HostDown, SteelyardError
from steelyard.evidence import disturbance
from steelyard.evidence.clocks import judge_clocks
from steelyard.evidence.disturbance import HostCounters, judge, parse_counters, quota_files
from steelyard.hosts.base import Host
from steelyard.hosts.clocks import Clocks, read_own_clocks
from steelyard.hosts.machine import identify_machine
from steelyard.model.metric import Mark

LONG = 0.5
_CGROUP = "/proc/self/cgroup"
UserTime = Callable[[frozenset[str]], float]


class WatchedMachine:
    """A machine, seen through `host`; `names` are all hosts that it is."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self.host, self.names = hosts[0], frozenset(host.name for host in hosts)
        self._quota: tuple[str, ...] | None = None

    async def list_patterns(self, long: bool) -> tuple[str, ...]:
        """The files that tell of disturbances."""
        if self._quota is None:
            files = await self.host.read([_CGROUP])
            self._quota = quota_files(files.get(_CGROUP, ""))
            self._quota = tuple(await self.host.read(self._quota))
        return (*(disturbance.THOROUGH if long else disturbance.QUICK), *self._quota)


class MachineWatch:
    """What was seen of a machine when a trial began; `read_marks` looks again and judges."""

    def __init__(
        self, machine: WatchedMachine, before: HostCounters, clocks: Clocks | None, patterns: tuple[str, ...]
    ) -> None:
        self._machine, self._before, self._clocks, self._patterns = machine, before, clocks, patterns
        self._began, self._own_before = time.monotonic(), machine.host.own_user_time()

    @classmethod
    async def from_machine(cls, machine: WatchedMachine, long: bool) -> MachineWatch:
        """Look for the first time."""
        patterns, clocks = await machine.list_patterns(long), await machine.host.read_clocks()
        return cls(machine, parse_counters(await machine.host.read(patterns)), clocks, patterns)

    async def read_marks(self, user_time: UserTime) -> tuple[Mark, ...]:
        """What disturbed the trial here; `user_time` tells what its processes on some hosts used (s).

        What an event took away cannot tell any more.
        """
        try:
            return await self._judge(user_time)
        except HostDown:
            return ()

    async def _judge(self, user_time: UserTime) -> tuple[Mark, ...]:
        host = self._machine.host
        after = parse_counters(await host.read(self._patterns))
        # After reading, as both began after the first reading: on a busy machine that takes its time.
        wall = time.monotonic() - self._began
        ours = user_time(self._machine.names) + host.own_user_time() - self._own_before
        load = judge(self._before, after, wall=wall, ours=ours, own=host.own_processes())
        return load + judge_clocks(self._clocks, await host.read_clocks())


class TrialWatch:
    """All machines of a trial, and the clocks of the controller's own where no host is on it."""

    def __init__(self, watch: TrialWatcher, watched: Sequence[MachineWatch]) -> None:
        self._watch, self._watched = watch, watched
        self._clocks = None if watch.is_here else read_own_clocks()

    async def read_marks(self, user_time: UserTime) -> list[Mark]:
        """What disturbed the trial, and on which machine where there are several."""
        by_machine = await asyncio.gather(*(watched.read_marks(user_time) for watched in self._watched))
        marks = [
            mark if len(by_machine) == 1 else replace(mark, reason=f"{machine.host.name}: {mark.reason}")
            for machine, some in zip(self._watch.machines, by_machine, strict=True)
            for mark in some
        ]
        here = judge_clocks(self._clocks, read_own_clocks()) if self._clocks else ()
        marks += [replace(mark, reason=f"the controller's machine: {mark.reason}") for mark in here]
        if not self._watch.machine_lock.is_alone():
            marks.append(Mark("disturbed", "another run measured on this machine", "another run"))
        return marks


class TrialWatcher:
    """Watches the trials of a run. `warn` is told what could not be kept."""

    def __init__(
        self,
        hosts: Sequence[Host],
        collecting: Collecting,
        turn: MachineLock,
        warn: Callable[[str], None],
    ) -> None:
        of_machine = group_by_machine(host.ground for host in hosts)
        self.machines, self.machine_lock = [WatchedMachine(of) for of in of_machine.values()], turn
        self.is_here = identify_machine() in of_machine
        self._collecting, self._warn = collecting, warn
        self._lasted: dict[str, float] = {}

    @asynccontextmanager
    async def watch_trial(
        self,
        number: int,
        cell: str,
        expected: float | None,
        *,
        thorough: bool = False,
        deployed: ReadyServices | None = None,
    ) -> AsyncIterator[TrialWatch]:
        """Watch for as long as the block lasts; `expected` is how long that may be, None when unknown.

        `thorough` asks for the table of processes in any case: the load of services is not foreign.
        Collectors also look at what is `deployed`.
        """
        long = self._expected_seconds(cell, expected) > LONG
        watched = await asyncio.gather(
            *(MachineWatch.from_machine(machine, long or thorough) for machine in self.machines)
        )
        of_all, began = TrialWatch(self, watched), time.monotonic()
        try:
            async with AsyncExitStack() as scope:
                for sampler in self._collecting.make_samplers(number, deployed) if long else ():
                    await scope.enter_async_context(self._run_sampler(sampler, number))
                yield of_all
        finally:
            self._lasted[cell] = time.monotonic() - began

    def _expected_seconds(self, cell: str, said: float | None) -> float:
        """As long as the cell took before, else as its options say, else for all we know for ever."""
        return self._lasted.get(cell, math.inf if said is None else said)

    @asynccontextmanager
    async def _run_sampler(self, sampler: Sampler, number: int) -> AsyncIterator[None]:
        """Telemetry that cannot be kept is a warning: the trial's own figures stand."""
        async with sampler.collect_samples() as task:
            yield
        stopped = None if task.cancelled() else task.exception()
        if stopped and not isinstance(stopped, OSError | SteelyardError):
            raise stopped
        try:
            await asyncio.to_thread(sampler.finish)
        except (OSError, SteelyardError) as error:
            stopped = error
        if stopped:
            what = f"{sampler.what} of {sampler.path.stem}"
            self._warn(f"{what} in trial {number} could not be saved: {stopped}")
        elif sampler.complaint:
            self._warn(sampler.complaint)
