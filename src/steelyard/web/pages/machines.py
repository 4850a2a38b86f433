"""`/machines`: whose turn it is on this machine, what is under way, and how fit it is for benchmarking."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path, PurePosixPath
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from steelyard.controller.machine.lock_files import find_measuring_run
from steelyard.store.reader import UNDER_WAY
from steelyard.web.context import get_context
from steelyard.web.quiet import find_reason_to_wait
from steelyard.web.render import respond
from steelyard.web.runs_index import RunsQuery


async def show_machine(request: Request) -> Response:
    """The page."""
    context, waits = get_context(request), find_reason_to_wait(request)
    advice = None if waits else await asyncio.to_thread(lambda: inspect(context.store.scratch))
    runs = context.index.select(RunsQuery()).runs
    under_way = [dataclasses.asdict(run) for run in runs if run.state in UNDER_WAY]
    facts = {"turn": find_measuring_run() or "", "under_way": under_way, "advice": advice}
    return respond(request, "machines.html.j2", facts)


def inspect(scratch: Path) -> list[dict[str, Any]]:
    """The advice of `steelyard doctor`."""
    from steelyard.controller.machine.inspection import inspect_machine

    environment = asyncio.run(inspect_machine(PurePosixPath(scratch.absolute())))
    return list(environment["advice"])
