"""What is done before each trial so that repetitions start alike, and a record of what it came to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.errors import TrialFailure
from steelyard.model.command import Command
from steelyard.model.experiment import Step
from steelyard.remote.base import Host, Streams, finish

_FILL_SECONDS_PER_MIB = 1.0


class Preparation:
    """Carries out `before_each` on a host.

    `warm_up(times)` runs the workload unmeasured; `folder(name)` gives the place for a step's output.
    """

    def __init__(
        self,
        host: Host,
        scratch: PurePosixPath,
        *,
        warm_up: Callable[[int], Awaitable[None]],
        folder: Callable[[str], Path],
    ) -> None:
        self.host, self.scratch = host, scratch
        self._warm_up, self._folder = warm_up, folder

    async def carry_out(self, steps: tuple[Step, ...]) -> tuple[dict[str, Any], list[str]]:
        """Do the steps in order. What each came to, and what could not be done as asked."""
        record: dict[str, Any] = {"cache": "as left"}
        warnings: list[str] = []
        for step in steps:
            began = time.monotonic()
            await self._step(step, record, warnings)
            record[f"{step.name}_seconds"] = round(time.monotonic() - began, 6)
        return record, warnings

    async def _step(self, step: Step, record: dict[str, Any], warnings: list[str]) -> None:
        match step.name:
            case "sync":
                await self.host.sync()
            case "drop_caches":
                await self._drop_caches(record, warnings)
            case "settle":
                await asyncio.sleep(float(step.value))
            case "warm_up":
                await self._warm_up(int(step.value))
                record["cache"] = "warm"
            case "precondition":
                await self._precondition(int(step.value))

    async def _drop_caches(self, record: dict[str, Any], warnings: list[str]) -> None:
        before = await self._cached()
        if not await self.host.drop_caches():
            warnings.append(f"drop_caches is not allowed on {self.host.name}; caches stay as they are")
            return
        record |= {"cache": "cold", "cached_before": before, "cached_after": await self._cached()}

    async def _cached(self) -> int | None:
        """Bytes in the page cache, to verify that dropping it did something."""
        text = (await self.host.read(["/proc/meminfo"])).get("/proc/meminfo", "")
        for line in text.splitlines():
            name, _, rest = line.partition(":")
            if name == "Cached":
                return int(rest.split()[0]) * 1024
        return None

    async def _precondition(self, size: int) -> None:
        """Write so much in order and delete it, so that a drive's write cache and free blocks are used up.

        The idea is that of workload-independent preconditioning in the SNIA Solid State Storage
        Performance Test Specification, section 3.
        """
        mebibytes = max(1, size >> 20)
        target = f"{self.scratch}/precondition"
        argv = ("dd", "if=/dev/zero", f"of={target}", "bs=1M", f"count={mebibytes}", "conv=fsync")
        await self._small(Command(argv), "precondition", mebibytes * _FILL_SECONDS_PER_MIB + 60)
        await self._small(Command(("rm", "-f", target)), "precondition-remove", 60)

    async def _small(self, command: Command, name: str, seconds: float) -> None:
        folder = self._folder(name)
        streams = Streams(folder / "stdout", folder / "stderr")
        process = await self.host.start(command, streams, cwd=self.scratch)
        exit_, timed_out = await finish(process, seconds)
        if timed_out or exit_.code != 0:
            reason = (folder / "stderr").read_text(errors="replace")[-300:].strip()
            category = "disk-full" if "No space left" in reason else "host-failed"
            raise TrialFailure(category, f"before_each {name}: {reason or 'took too long'}")
