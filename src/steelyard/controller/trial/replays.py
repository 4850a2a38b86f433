"""Plans of the traces that workloads replay: each made once for a run, and laid where a copy works."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path, PurePosixPath

from steelyard.controller.context import RunContext
from steelyard.controller.placement import Workdir
from steelyard.controller.plan.replayed import find_replayed
from steelyard.controller.trial.step import PipelineStep
from steelyard.errors import SteelyardError, TrialFailure
from steelyard.model.replay import ReplayedTrace


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


def find_plan(workdir: Workdir) -> PurePosixPath:
    """Where that of a copy lies."""
    return workdir.home / "replay.plan"


def _make_plan(context: RunContext, wanted: ReplayedTrace) -> Path:
    from steelyard.traces.replay.plan import make_plan

    trace = find_replayed(context.experiment, context.store, wanted)
    name = hashlib.sha256(f"{trace.path.resolve()}\0{wanted.under}".encode()).hexdigest()[:16]
    place = context.folder.path / "replays" / f"{name}.plan"
    if not place.exists():
        place.parent.mkdir(mode=0o700, exist_ok=True)
        make_plan(trace, place, under=wanted.under)
    return place
