"""Where workloads put their data: one directory a run in each place they name, one in it for each trial."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import PurePosixPath
from typing import Any

from steelyard.errors import HostError
from steelyard.model.experiment import Experiment
from steelyard.model.trial import Trial
from steelyard.remote.base import Host
from steelyard.workloads.base import Workload


class Scratch:
    """The scratch directories of a run on a host. `base` is where `directory: scratch` leads.

    `note` is told of each directory before it is made, so that `clean` can find it whatever happens.
    """

    def __init__(
        self,
        host: Host,
        base: PurePosixPath,
        run: str,
        experiment: Experiment,
        note: Callable[[PurePosixPath], None],
    ) -> None:
        self.host, self.base, self.run, self._note = host, base, run, note
        self._keep = experiment.reset == "keep"
        self._made: list[PurePosixPath] = []

    @asynccontextmanager
    async def of(self, workload: Workload[Any], trial: Trial, number: int) -> AsyncIterator[PurePosixPath]:
        """A directory for a workload in a trial: empty, unless `reset: keep` gives the cell its old one."""
        path = await self._root(workload) / self._name(trial, number)
        await self.host.make_directory(path)
        try:
            yield path
        finally:
            if not self._keep:
                await self.host.remove_directory(path)

    async def open(self) -> None:
        """Make the directory that most workloads use, so that a wrong place is told before any trial."""
        await self._make(self.base / self.run)

    async def close(self) -> None:
        """Remove everything, as far as possible. Raises what went wrong first."""
        wrong: list[HostError] = []
        for path in reversed(self._made):
            try:
                await self.host.remove_scratch(path)
            except HostError as error:
                wrong.append(error)
        self._made.clear()
        if wrong:
            raise wrong[0]

    async def _root(self, workload: Workload[Any]) -> PurePosixPath:
        named = workload.directory()
        parent = self.base if named == "scratch" else PurePosixPath(named)
        path = parent / self.run if named == "scratch" else parent / f"steelyard-{self.run}"
        return await self._make(path)

    async def _make(self, path: PurePosixPath) -> PurePosixPath:
        if path not in self._made:
            self._note(path)
            await self.host.make_scratch(path)
            self._made.append(path)
        return path

    def _name(self, trial: Trial, number: int) -> str:
        if not self._keep:
            return f"t{number}"
        return f"cell-{hashlib.sha256(trial.cell.key.encode()).hexdigest()[:12]}"
