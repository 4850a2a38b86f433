"""`/compare?run=A&run=B`: runs against the first of them; what differs leads, then the verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from steelyard.errors import SteelyardError, UsageError
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord
from steelyard.web.context import WebContext, get_context
from steelyard.web.quiet import find_reason_to_wait
from steelyard.web.render import respond
from steelyard.web.runs_index import RunsQuery

MOST = 12


async def show_comparison(request: Request) -> Response:
    """The page; its URL is all that is needed to see it again."""
    context = get_context(request)
    names = list(dict.fromkeys(request.query_params.getlist("run")))
    if len(names) > MOST:
        raise UsageError(f"{len(names)} runs are too many for one page", hint=f"choose at most {MOST}")
    folders = [context.store.find(name) for name in names]
    metric = request.query_params.get("metric", "").strip()
    waits = find_reason_to_wait(request) if len(folders) > 1 else ""
    comparisons = [] if waits else await asyncio.to_thread(lambda: _compare_all(folders, metric))
    chosen = [folder.id for folder in folders]
    facts = {"chosen": chosen, "metric": metric, "waits": waits, "comparisons": comparisons}
    again = urlencode([*(("run", name) for name in chosen), ("metric", metric)])
    others = [] if len(chosen) > 1 else await _list_others(context, chosen)
    return respond(request, "compare.html.j2", facts, others=others, again=again)


async def _list_others(context: WebContext, chosen: Sequence[str]) -> list[Any]:
    """Runs to compare with, those of the same experiment first."""
    runs = context.index.select(RunsQuery()).runs
    titles = {run.title for run in runs if run.run in chosen}
    left = [run for run in runs if run.run not in chosen]
    return sorted(left, key=lambda run: run.title not in titles)


def _compare_all(folders: Sequence[RunFolder], metric: str) -> list[dict[str, Any]]:
    return [_compare(folders[0], other, metric) for other in folders[1:]]


def _compare(a: RunFolder, b: RunFolder, metric: str) -> dict[str, Any]:
    """Two runs; or why they cannot be compared, which spoils no other comparison of the page."""
    from steelyard.analysis.comparison.compare import compare_runs
    from steelyard.report.sections.comparison import answer, conclusion, sections

    title = f"{b.id} against {a.id}"
    try:
        comparison = compare_runs(
            [RunRecord(a)], [RunRecord(b)], metrics=(metric,) if metric else (), across=True
        )
    except SteelyardError as error:
        return {"title": title, "refusal": str(error)}
    return {
        "title": title,
        "refusal": "",
        "answer": answer(comparison),
        "differences": [
            {"what": one.what, "before": one.before, "after": one.after, "place": one.place}
            for one in comparison.differences
        ],
        "sections": [
            {"heading": one.heading, "head": one.head, "rows": one.rows} for one in sections(comparison)
        ],
        "notes": conclusion(comparison),
    }
