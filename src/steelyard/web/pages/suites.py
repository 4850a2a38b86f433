"""`/suites`: the newest suites of experiments first; `/suites/ID`: what one came to, and going on with it."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from steelyard.errors import UnknownName
from steelyard.store.suites import SuiteFolder, find_suite, list_suites
from steelyard.suites.progress import read_progress
from steelyard.web.context import WebContext, get_context
from steelyard.web.quiet import find_reason_to_wait
from steelyard.web.render import respond

MOST = 50


async def show_suites(request: Request) -> Response:
    """The list."""
    store = get_context(request).store

    def describe() -> dict[str, Any]:
        folders = list_suites(store)
        begun = [read_progress(folder, store) for folder in folders[-MOST:]]
        begun.sort(key=lambda suite: suite.began, reverse=True)
        suites = [{**dataclasses.asdict(one), "told": one.describe()} for one in begun]
        return {"suites": suites, "total": len(folders)}

    return respond(request, "suites.html.j2", await asyncio.to_thread(describe))


async def show_suite(request: Request) -> Response:
    """A suite. Its runs are not judged while a run measures on this machine."""
    context, waits = get_context(request), find_reason_to_wait(request)
    folder = _find(request)
    facts = await asyncio.to_thread(lambda: _describe(folder, context, judging=not waits))
    return respond(request, "suite.html.j2", {**facts, "waits": waits})


async def resume_suite(request: Request) -> Response:
    """Go on with it, as a command of its own."""
    key = get_context(request).get_starter().start("resume", _find(request).id)
    return RedirectResponse(f"../../starts/{key}", 303)


def _find(request: Request) -> SuiteFolder:
    store, name = get_context(request).store, request.path_params["suite"]
    folder = find_suite(store, name)
    if folder is None:
        raise UnknownName("suite", name, [one.id for one in list_suites(store)[-MOST:]])
    return folder


def _describe(folder: SuiteFolder, context: WebContext, *, judging: bool) -> dict[str, Any]:
    from steelyard.suites.report import plain_suite
    from steelyard.suites.summary import summarise_suite

    progress = read_progress(folder, context.store)
    summary = plain_suite(summarise_suite(folder, context.store)) if judging else None
    return {"progress": {**dataclasses.asdict(progress), "told": progress.describe()}, "summary": summary}
