"""`/`: the runs of the store, the newest first, by filters that stand in the URL."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response

from steelyard.store.reader import State
from steelyard.web.context import get_context
from steelyard.web.live.stream import stream
from steelyard.web.render import respond
from steelyard.web.runs_index import RunsQuery


async def show_runs(request: Request) -> Response:
    """The page."""
    context, query = get_context(request), RunsQuery.parse(request.query_params)
    channel = context.hub.follow_runs(query)
    view = await channel.read()
    page = channel.page
    older = query._replace(before=page.runs[-1].run)._asdict() if page.runs else {}
    facts = {"runs": list(map(dataclasses.asdict, page.runs)), "total": page.total, "more": page.more}
    rows = "".join(html for name, html in view.parts.items() if name != "runs")
    around: dict[str, Any] = {
        "query": query,
        "states": get_args(State),
        "store": str(context.store.root),
        "rows": rows,
    }
    return respond(request, "runs.html.j2", facts, **around, older=older, number=view.number)


async def stream_runs(request: Request) -> Response:
    """What changes on it."""
    query = RunsQuery.parse(request.query_params)
    return stream(request, get_context(request).hub.follow_runs(query))
