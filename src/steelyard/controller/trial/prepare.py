"""What is done before each trial so that repetitions start alike, and a record of what it came to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from steelyard.controller.placement import Workdir, group_by_machine
from steelyard.errors import TrialFailure
from steelyard.hosts.base import Host, Streams, finish
from steelyard.hosts.short_programs import tail
from steelyard.model.command import Command
from steelyard.model.keys.method import Step
from steelyard.model.metric import Mark

_FILL_SECONDS_PER_MIB = 1.0


class Preparation:
    """Carries out `before_each` on the hosts of a trial: what concerns a machine once on each.

    `warm_up(times)` runs the workload unmeasured; `folder(slot, step)` gives the place for a step's output.
    """

    def __init__(
        self,
        workdirs: Sequence[Workdir],
        *,
        warm_up: Callable[[int], Awaitable[None]],
        folder: Callable[[str, str], Path],
    ) -> None:
        self._workdirs = {workdir.host.name: workdir for workdir in workdirs}.values()
        self._machines = [
            hosts[0] for hosts in group_by_machine(workdir.host for workdir in workdirs).values()
        ]
        self._warm_up, self._folder = warm_up, folder

    async def carry_out(self, steps: tuple[Step, ...]) -> tuple[dict[str, Any], list[Mark]]:
        """Do the steps in order. What each came to, and marks for what could not be done as asked."""
        record: dict[str, Any] = {"cache": "as left"}
        marks: list[Mark] = []
        for step in steps:
            began = time.monotonic()
            await self._run_step(step, record, marks)
            record[f"{step.name}_seconds"] = round(time.monotonic() - began, 6)
        return record, marks

    async def _run_step(self, step: Step, record: dict[str, Any], marks: list[Mark]) -> None:
        match step.name:
            case "sync":
                await asyncio.gather(*(host.sync() for host in self._machines))
            case "drop_caches":
                await self._drop_caches(record, marks)
            case "settle":
                await asyncio.sleep(float(step.value))
            case "warm_up":
                await self._warm_up(int(step.value))
                record["cache"] = "warm"
            case "precondition":
                fill = (self._precondition(workdir, int(step.value)) for workdir in self._workdirs)
                await asyncio.gather(*fill)

    async def _drop_caches(self, record: dict[str, Any], marks: list[Mark]) -> None:
        before = await self._read_cache_size()
        dropped = await asyncio.gather(*(host.drop_caches() for host in self._machines))
        refused = [host.name for host, done in zip(self._machines, dropped, strict=True) if not done]
        if refused:
            reason = f"drop_caches is not permitted on {', '.join(refused)}; its caches were not dropped"
            marks.append(Mark("fallback", reason, "caches not dropped"))
            return
        record |= {"cache": "cold", "cached_before": before, "cached_after": await self._read_cache_size()}

    async def _read_cache_size(self) -> int | None:
        """Bytes in the page caches of all machines, to verify that dropping them did something."""
        sizes = await asyncio.gather(*(_read_cached(host) for host in self._machines))
        return None if None in sizes else sum(size or 0 for size in sizes)

    async def _precondition(self, workdir: Workdir, size: int) -> None:
        """Write so much in order and delete it, so that a drive's write cache and free blocks are used up.

        The idea is that of workload-independent preconditioning in the SNIA Solid State Storage
        Performance Test Specification, section 3.
        """
        mebibytes = max(1, size >> 20)
        target = f"{workdir.scratch}/precondition"
        argv = ("dd", "if=/dev/zero", f"of={target}", "bs=1M", f"count={mebibytes}", "conv=fsync")
        await self._run_command(
            workdir, Command(argv), "precondition", mebibytes * _FILL_SECONDS_PER_MIB + 60
        )
        await self._run_command(workdir, Command(("rm", "-f", target)), "precondition-remove", 60)

    async def _run_command(self, workdir: Workdir, command: Command, name: str, seconds: float) -> None:
        folder = self._folder(workdir.copy.slot.name, name)
        streams = Streams(folder / "stdout", folder / "stderr")
        process = await workdir.start(command, streams)
        exit_, timed_out = await finish(process, seconds)
        if timed_out or exit_.code != 0:
            reason = tail(folder / "stderr", 300)
            category = "disk-full" if "No space left" in reason else "host-failed"
            where = f"before_each {name} on {workdir.host.name}"
            raise TrialFailure(category, f"{where}: {reason or 'took too long'}")


async def _read_cached(host: Host) -> int | None:
    text = (await host.read(["/proc/meminfo"])).get("/proc/meminfo", "")
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name == "Cached":
            return int(rest.split()[0]) * 1024
    return None
