"""How close together 16 copies on 16 namespace hosts begin, with the probe and with plain sh.

The way is a run's own: `LockStep.instant`, `Host.start(at=...)`, `measure_punctuality`. Beside it are 16 bare
waiters on this machine, with no host between and no priority asked for: beside the probe in C (`waiter.c`),
beside plain sh in sh, with a bash for the time. The program that begins is always the same, and notes by
itself when it began, so that no record of ours judges us.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from bench.process import NotMeasured
from bench.row import Row, percentile
from bench.setting import Setting, changed
from bench.waiters import Kind, bare_skew, compiled, in_c, in_sh, spread
from steelyard.controller.placement import Slot, Workdir, WorkloadCopy
from steelyard.controller.trial.lockstep import LockStep, Punctuality, measure_punctuality
from steelyard.errors import SteelyardError
from steelyard.hosts.agent.probe import VARIABLE, find_probe
from steelyard.hosts.base import Host, Process, Streams
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.sites.netns import Netns, NetnsOptions
from steelyard.units import show

HOSTS = 16
BARE: dict[str, tuple[str, Kind]] = {"probe": ("in C", in_c), "plain sh": ("in sh", in_sh)}
MOST_OF_BARE = 1.2
LONGEST = 300.0  # seconds for all starts with one kind of agent


@dataclass
class Turn:
    """The starts of one turn: skews in seconds of the releases, the programs, the bare waiters."""

    releases: list[float] = field(default_factory=list)
    programs: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)


def rows(setting: Setting) -> Iterator[Row]:
    """For each agent the skew of the releases, and that of the programs beside the bare waiters."""
    waiter = compiled(setting.folder("lockstep"))
    for agent in BARE:
        system = os.uname()
        if agent == "probe" and not find_probe(system.sysname, system.machine):
            yield Row("lockstep", _release(agent), "s", (), note="there is no probe here; make probe")
            continue
        yield from _rows(agent, asyncio.run(measured(setting, agent, waiter)))


def _rows(agent: str, turns: Sequence[Turn]) -> Iterator[Row]:
    starts = [skew for turn in turns for skew in turn.releases]
    note = f"the p99 of each turn; that of all {len(starts)} starts is {show(percentile(starts, 99), 's')}"
    p99 = tuple(percentile(turn.releases, 99) for turn in turns)
    beside = f"{HOSTS} bare waiters {BARE[agent][0]}"
    late = tuple(percentile(turn.bare, 99) for turn in turns)
    yield Row("lockstep", _release(agent), "s", p99, beside, late, note=note, most=MOST_OF_BARE)
    ours = tuple(statistics.median(turn.programs) for turn in turns)
    bare = tuple(statistics.median(turn.bare) for turn in turns)
    what = f"program-start skew, {HOSTS} hosts, {agent}"
    yield Row("lockstep", what, "s", ours, beside, bare, most=MOST_OF_BARE)


def _release(agent: str) -> str:
    return f"release skew p99, {HOSTS} hosts, {agent}"


async def measured(setting: Setting, agent: str, waiter: Path) -> list[Turn]:
    """The starts with one kind of agent, turn by turn. Raises NotMeasured."""
    folder = setting.fresh("starts")
    try:
        async with asyncio.timeout(LONGEST), _hosts(agent, folder) as hosts:
            starts = Starts(hosts, folder, waiter)
            await starts.together()  # it learns how much lead is needed
            return [
                await _turn(starts, BARE[agent][1], 5 if setting.quick else 20) for _ in range(setting.turns)
            ]
    except SteelyardError as error:
        raise NotMeasured(str(error)) from error
    except TimeoutError:
        raise NotMeasured(f"the starts with {agent} took more than {LONGEST:g} s") from None


@asynccontextmanager
async def _hosts(agent: str, folder: Path) -> AsyncIterator[tuple[Host, ...]]:
    site = Netns(NetnsOptions(hosts=HOSTS))
    agents = {} if agent == "probe" else {VARIABLE: "none"}
    with changed(agents):
        async with site.lease(Token.of("bench"), folder / "log", None) as hosts:
            yield hosts


async def _turn(starts: Starts, kind: Kind, count: int) -> Turn:
    turn = Turn()
    for _ in range(count):
        turn.bare.append(await asyncio.to_thread(bare_skew, kind, starts.waiter, len(starts.workdirs)))
        how = await starts.together()
        turn.releases.append(max(how.release_times.values()) - min(how.release_times.values()))
        turn.programs.append(spread(starts.noted()))
    return turn


class Starts:
    """Starts of the waiter, which only notes when it began, on all hosts at one instant."""

    def __init__(self, hosts: Sequence[Host], folder: Path, waiter: Path) -> None:
        self.folder, self.waiter, self._lock = folder, waiter, LockStep()
        seats = [Slot("client", number, host) for number, host in enumerate(hosts)]
        self.workdirs = [
            Workdir(WorkloadCopy(slot, 0, slot.index, 1), PurePosixPath(folder)) for slot in seats
        ]

    async def together(self) -> Punctuality:
        """One start, as a trial makes it. Raises HostError."""
        instant = await self._lock.schedule_instant(self.workdirs)
        began = time.monotonic()
        starting = (self._start(workdir, instant.host_time(workdir.host)) for workdir in self.workdirs)
        processes = await asyncio.gather(*starting)
        self._lock.record_lead(time.monotonic() - began)
        ended = await asyncio.gather(*(process.wait() for process in processes))
        exits = zip(self.workdirs, ended, strict=True)
        return measure_punctuality(
            instant, {workdir.copy.name: (workdir.host, exit_) for workdir, exit_ in exits}
        )

    def noted(self) -> list[int]:
        """When the programs of the last start began, by what they noted, in ns."""
        return [int(self._output(workdir).read_text()) for workdir in self.workdirs]

    async def _start(self, workdir: Workdir, at: int) -> Process:
        streams = Streams(self._output(workdir), self.folder / f"{workdir.copy.name}.err")
        return await workdir.host.start(Command((str(self.waiter),)), streams, cwd=workdir.scratch, at=at)

    def _output(self, workdir: Workdir) -> Path:
        return self.folder / f"{workdir.copy.name}.out"
