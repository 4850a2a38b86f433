"""Traces of storage calls that a run recorded: their tables, once its hosts are given back."""

from __future__ import annotations

import asyncio

from steelyard.controller.context import RunContext
from steelyard.errors import SteelyardError


async def complete_traces(context: RunContext) -> None:
    """Make the tables of all that was recorded; where that fails, warn: the segments stay."""
    experiment = context.experiment
    if any(use.capture for use in (*experiment.workload, *experiment.services.values())):
        from steelyard.traces.recording import complete_below

        try:
            traces = await asyncio.to_thread(complete_below, context.folder.path)
        except SteelyardError as error:
            context.warn(f"a trace is incomplete: {error.message}; `steelyard trace show` tries again")
        else:
            paths = [str(trace.path.relative_to(context.folder.path)) for trace in traces]
            context.note("traces-recorded", paths=paths)
