"""`/history/EXPERIMENT`: each run's medians over time, and where they changed; `/history` lists them all."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any, get_args

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from steelyard.errors import UnknownName
from steelyard.store.decisions import Verdict
from steelyard.web.context import WebContext, get_context, name_user
from steelyard.web.forms import read_form
from steelyard.web.quiet import find_reason_to_wait
from steelyard.web.render import respond, wants_json

if TYPE_CHECKING:
    from steelyard.analysis.history.history import History, HistorySeries

MOST_PLOTS = 12


async def list_histories(request: Request) -> Response:
    """The experiments of the store, those with most runs first."""
    from steelyard.analysis.history.load import list_experiments

    experiments = await asyncio.to_thread(lambda: list_experiments(get_context(request).store))
    return respond(request, "histories.html.j2", {"experiments": experiments})


async def show_history(request: Request) -> Response:
    """The page. Working it out waits while a run measures on this machine."""
    query, waits = request.query_params, find_reason_to_wait(request)
    by, metric = query.get("by", "").strip() or "wall", query.get("metric", "").strip()
    chosen = {"experiment": request.path_params["experiment"], "by": by, "metric": metric}
    if waits:
        return respond(request, "history.html.j2", {**chosen, "waits": waits})
    context, as_json = get_context(request), wants_json(request)
    facts = await asyncio.to_thread(lambda: _describe(context, chosen, as_json=as_json))
    return respond(request, "history.html.j2", {**chosen, "waits": "", **facts})


async def decide_on_run(request: Request) -> Response:
    """Take down that a change was expected, that a run is to be ignored, or that neither holds any more."""
    from steelyard.analysis.history.decide import decide
    from steelyard.analysis.history.load import load_history

    experiment, fields = request.path_params["experiment"], await read_form(request)
    verdict = fields.get("verdict", "")
    if verdict not in get_args(Verdict):
        raise UnknownName("decision", verdict, get_args(Verdict))
    store = get_context(request).store

    def write() -> None:
        run = load_history(store, experiment).find_run(fields.get("run", ""))
        decide(store, run, verdict, fields.get("why", ""), name_user())  # type: ignore[arg-type]

    await asyncio.to_thread(write)
    return RedirectResponse(f"../{experiment}", 303)


def _describe(context: WebContext, chosen: dict[str, str], *, as_json: bool) -> dict[str, Any]:
    from steelyard.analysis.history.load import load_history
    from steelyard.report.history import plain_history
    from steelyard.report.sections.history import describe_history
    from steelyard.web.history_plot import plot_history

    metrics = (chosen["metric"],) if chosen["metric"] else ()
    history = load_history(context.store, chosen["experiment"], by=chosen["by"], metrics=metrics)
    if as_json:
        return plain_history(history)
    said = describe_history(history)
    drawn = sorted(history.series, key=_sort_key)[:MOST_PLOTS]
    return {
        "said": said._asdict(),
        "tables": [one._asdict() for one in said.sections],
        "alarms": _list_alarms(history),
        "decisions": [dataclasses.asdict(one) for one in history.decisions.values()],
        "plots": [plot_history(one) for one in drawn],
        "undrawn": len(history.series) - len(drawn),
        "tags": list(dict.fromkeys(name for run in history.every for name in run.tags)),
    }


def _list_alarms(history: History) -> list[dict[str, str]]:
    """The runs at which something changed that nobody expected, each once."""
    runs = {change.run: change.label for _, change in history.alarms}
    return [{"run": run, "label": label} for run, label in runs.items()]


def _sort_key(one: HistorySeries) -> tuple[bool, bool]:
    """What has changed is drawn before what has not."""
    return (not any(change.is_alarm for change in one.changes), not one.changes)
