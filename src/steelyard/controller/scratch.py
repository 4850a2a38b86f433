"""Where workloads put their data: one directory a run in each place they name, one in it for each trial."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.controller.attempt import Attempt
from steelyard.controller.placement import Workdir, WorkloadCopy
from steelyard.errors import HostError, HostLost
from steelyard.hosts.base import Host
from steelyard.model.experiment import Experiment
from steelyard.model.paths import is_service
from steelyard.sites.base import Site
from steelyard.workloads.base import Workload

FAR_SCRATCH = PurePosixPath("/var/tmp")  # noqa: S108 - what is made there is ours, with a name unknown before
"""Where test data go on a host far away that names no place: on its disk, unlike /tmp on many.

No directory in between, which another account could make first.
"""


class Scratch:
    """The scratch directories of a run on a host. `base` is where `directory: scratch` leads.

    `alone` says that no other host of the run has the same files. `note` is told of each directory before it
    is made, so that `clean` can find it whatever happens.
    """

    def __init__(
        self,
        host: Host,
        base: PurePosixPath,
        run: str,
        experiment: Experiment,
        note: Callable[[Host, PurePosixPath], None],
        *,
        alone: bool = True,
    ) -> None:
        self.host, self.base, self.run, self._note = host, base, run, note
        self._keep = experiment.reset == "keep"
        self._alone, self._secret = alone, secrets.token_hex(8)
        self._made: list[PurePosixPath] = []

    async def open(self) -> None:
        """Make the directory that most workloads use, so that a wrong place is told before any trial."""
        await self._make(self._run_path(self.base))

    async def close(self) -> None:
        """Remove everything, as far as possible. Raises what went wrong first."""
        wrong: list[HostError] = []
        for path in reversed(self._made):
            try:
                await self.host.remove_scratch(path)
            except HostLost:
                break  # it cleans up by itself
            except HostError as error:
                wrong.append(error)
        self._made.clear()
        if wrong:
            raise wrong[0]

    @asynccontextmanager
    async def make_directory(self, name: str) -> AsyncIterator[PurePosixPath]:
        """An empty directory of this name for as long as the block lasts."""
        path = await self._make(self._run_path(self.base)) / name
        await self.host.make_directory(path)
        try:
            yield path
        finally:
            with suppress(HostLost):
                await self.host.remove_directory(path)

    async def make_workdir(self, workload: Workload[Any], attempt: Attempt, copy: WorkloadCopy) -> Workdir:
        """A directory for a copy in a trial: empty, unless `reset: keep` gives the cell its old one."""
        path = await self._make_root(workload) / self._name(attempt, copy)
        await self.host.make_directory(path)
        return Workdir(copy, path)

    async def release_workdir(self, workdir: Workdir) -> None:
        """The trial has ended."""
        if not self._keep:
            with suppress(HostLost):  # the next trial's check of its hosts tells
                await self.host.remove_directory(workdir.home)

    async def _make_root(self, workload: Workload[Any]) -> PurePosixPath:
        named = workload.directory()
        base = self.base if named == "scratch" or is_service(named) else PurePosixPath(named)
        return await self._make(self._run_path(base))

    def _run_path(self, base: PurePosixPath) -> PurePosixPath:
        return base / self._run_name()

    def _run_name(self) -> str:
        """The directory's name: the host, where others see it too, the run's id, and a secret."""
        name = self.run if self._alone else f"{self.host.name}-{self.run}"
        return f"steelyard-{name}-{self._secret}"

    async def _make(self, path: PurePosixPath) -> PurePosixPath:
        if path not in self._made:
            self._note(self.host, path)
            await self.host.make_scratch(path)
            self._made.append(path)
        return path

    def _name(self, attempt: Attempt, copy: WorkloadCopy) -> str:
        local = f".{copy.local}" if copy.copies_on_host > 1 else ""
        if not self._keep:
            return f"t{attempt.number}{local}"
        return f"cell-{hashlib.sha256(attempt.cell.key.encode()).hexdigest()[:12]}{local}"


class Scratches:
    """Those of all hosts of a run."""

    def __init__(self, scratches: Iterable[Scratch]) -> None:
        self._of: Mapping[str, Scratch] = {scratch.host.name: scratch for scratch in scratches}

    def get_scratch(self, host: Host) -> Scratch:
        """That of one host."""
        return self._of[host.name]

    async def open(self) -> None:
        """All at once. Raises HostError."""
        await asyncio.gather(*(scratch.open() for scratch in self._of.values()))

    async def close(self) -> None:
        """All, as far as possible. Raises what went wrong first."""
        await _finish_all(scratch.close() for scratch in self._of.values())

    @asynccontextmanager
    async def make_workdirs(
        self, workload: Workload[Any], attempt: Attempt, copies: Sequence[WorkloadCopy]
    ) -> AsyncIterator[tuple[Workdir, ...]]:
        """A directory for each copy, for as long as the block lasts."""
        entered = await asyncio.gather(
            *(self.get_scratch(copy.slot.host).make_workdir(workload, attempt, copy) for copy in copies)
        )
        try:
            yield tuple(entered)
        finally:
            await _finish_all(self.get_scratch(each.host).release_workdir(each) for each in entered)


async def _finish_all(works: Iterable[Awaitable[None]]) -> None:
    """All at once, whatever becomes of the others. Raises what went wrong first."""
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    if wrong := next((each for each in outcomes if each), None):
        raise wrong


def choose_scratch(named: str | Path | None) -> Path | None:
    """The directory that the caller, or else STEELYARD_SCRATCH, names; None where neither does."""
    chosen = named or os.environ.get("STEELYARD_SCRATCH")
    return Path(chosen).absolute() if chosen else None


def scratch_warnings(chosen: Path | None, site: Site[Any]) -> list[str]:
    """That a chosen directory is not there, as its disk may not be mounted; elsewhere nobody has looked."""
    if chosen is None or site.install_policy != "here" or chosen.exists():
        return []
    above = next(parent for parent in chosen.parents if parent.exists())
    return [
        f"scratch directory {chosen} does not exist, so it is created on the disk that holds {above};"
        " to use another disk, mount it first"
    ]
