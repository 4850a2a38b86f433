"""Plans of the traces that workloads replay: each made once for a run, and laid where a copy works."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from steelyard.controller.context import RunContext
from steelyard.controller.placement import Workdir
from steelyard.controller.trial.step import PipelineStep
from steelyard.errors import SteelyardError, TrialFailure
from steelyard.model.experiment import Experiment
from steelyard.model.replay import ReplayedTrace
from steelyard.model.space import cells
from steelyard.model.trial import Cell
from steelyard.spec.bind import bind_all
from steelyard.store.layout import Store

if TYPE_CHECKING:
    from steelyard.traces.folder import TraceFolder


async def put_plan(context: RunContext, step: PipelineStep) -> None:
    """Lay the plan of the trace that a workload replays beside each copy's scratch. Raises TrialFailure."""
    wanted = step.workload.trace()
    if wanted is None:
        return
    try:
        made = await asyncio.to_thread(_make_plan, context, wanted)
    except SteelyardError as error:
        raise TrialFailure("host-failed", f"replay: {error.message}") from error
    for workdir in step.workdirs:
        await workdir.host.put(made, find_plan(workdir))


def check_traces(experiment: Experiment, store: Store) -> None:
    """Whether each trace that a workload replays is there and sound. Raises UnknownName, StoreError."""
    first, *others = cells(experiment, experiment.seed or 0)
    if not _list_traces(experiment, first):
        return
    wanted = (each for cell in (first, *others) for each in _list_traces(experiment, cell))
    for each in dict.fromkeys(wanted):
        _find_trace(experiment, store, each).verify()


def _list_traces(experiment: Experiment, cell: Cell) -> list[ReplayedTrace]:
    asked = (workload.trace() for _, workload in bind_all(experiment, cell))
    return [each for each in asked if each is not None]


def _find_trace(experiment: Experiment, store: Store, wanted: ReplayedTrace) -> TraceFolder:
    """A folder beside the experiment's file, else one of the store."""
    from steelyard.traces.folder import find_trace

    beside = Path(experiment.folder or ".") / wanted.name
    return find_trace(store, str(beside.absolute()) if beside.is_dir() else wanted.name)


def find_plan(workdir: Workdir) -> PurePosixPath:
    """Where that of a copy lies."""
    return workdir.home / "replay.plan"


def _make_plan(context: RunContext, wanted: ReplayedTrace) -> Path:
    from steelyard.traces.replay.plan import make_plan

    trace = _find_trace(context.experiment, context.store, wanted)
    name = hashlib.sha256(f"{trace.path.resolve()}\0{wanted.under}".encode()).hexdigest()[:16]
    place = context.folder.path / "replays" / f"{name}.plan"
    if not place.exists():
        place.parent.mkdir(mode=0o700, exist_ok=True)
        make_plan(trace, place, under=wanted.under)
    return place
