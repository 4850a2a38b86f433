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
    looked = {} if waits else await asyncio.to_thread(lambda: inspect(context.store.scratch))
    runs = context.index.select(RunsQuery()).runs
    under_way = [dataclasses.asdict(run) for run in runs if run.state in UNDER_WAY]
    facts: dict[str, Any] = {"turn": find_measuring_run() or "", "under_way": under_way}
    facts |= {"advice": looked.get("advice")}
    facts |= {name: looked.get(name, []) for name in ("environments", "schedulers")}
    return respond(request, "machines.html.j2", facts)


def inspect(scratch: Path) -> dict[str, Any]:
    """What `steelyard doctor` says: `advice`, the `environments` and `schedulers` that can be used here."""
    from steelyard.controller.machine.inspection import inspect_machine

    environment = asyncio.run(inspect_machine(PurePosixPath(scratch.absolute())))
    return {name: environment[name] for name in ("advice", "environments", "schedulers")}
