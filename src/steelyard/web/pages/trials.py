"""`/runs/ID/trials` and `/runs/ID/trials/N`: what was run, how it ended, and every file of it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from steelyard.analysis.damage import guard_record
from steelyard.analysis.importance import choose_headline
from steelyard.errors import UnknownName
from steelyard.printable import make_one_line
from steelyard.store.reader import RunRecord, TrialRecord
from steelyard.units import show
from steelyard.untrusted import open_regular
from steelyard.web.context import find_run, parse_number
from steelyard.web.render import respond

MOST = 100
_PIECE = 1 << 16
_TABLE = ".parquet"
_UNITS = {"code": "1", "signal": "1", "wall": "s", "user": "s", "system": "s", "peak_memory": "B"}


async def show_trials(request: Request) -> Response:
    """The newest trials, or those before a number."""
    record = RunRecord(find_run(request))
    limit = parse_number(request.query_params.get("before", ""))
    with guard_record(record.id):
        metric = choose_headline(record.metrics.values(), record.design)
        newest = [trial for trial in reversed(record.trials) if limit is None or trial.number < limit]
        shown = [_describe_trial(trial, metric) for trial in newest[:MOST]]
    older = shown[-1]["number"] if len(newest) > MOST else 0
    facts = {
        "run": record.id,
        "heading": "Trials",
        "trials": shown,
        "total": len(record.trials),
        "older": older,
    }
    return respond(request, "trials.html.j2", {**facts, "metric": metric.name if metric else "Figure"})


async def show_trial(request: Request) -> Response:
    """One trial: also one that is running, of which the files are already there."""
    record, number = RunRecord(find_run(request)), request.path_params["number"]
    with guard_record(record.id):
        page = record.trial_page(number)
        ended = next((trial for trial in record.trials if trial.number == number), None)
        facts = {
            "run": record.id,
            "heading": f"Trial {number}",
            "number": number,
            "outcome": _describe_outcome(page, ended),
            "message": ended.message if ended else "",
            "marks": [mark.reason for mark in ended.marks] if ended else [],
            "metrics": _list_figures(record, ended),
            "phases": [_describe_phase(phase) for phase in page.get("phases", ())],
            "files": _list_files(record, page),
            "events": [_describe_line(line) for line in page["journal"]],
        }
    return respond(request, "trial.html.j2", facts)


async def send_file(request: Request) -> Response:
    """A file of a trial, as text to be saved: only names that the record itself lists. Raises UnknownName."""
    record, number = RunRecord(find_run(request)), request.path_params["number"]
    page = record.trial_page(number)
    name = request.path_params["name"]
    names = {_name_file(record, number, path): Path(path) for path in page["files"]}
    if name not in names:
        raise UnknownName("file", name, list(names))
    try:
        file = open_regular(names[name])
    except OSError as error:
        raise UnknownName("file", name, [], hint=str(error.strerror)) from error
    saved = make_one_line(name.rpartition("/")[2]).encode("ascii", "replace").decode().replace('"', "'")
    table = saved.endswith(_TABLE)
    headers = {
        "Content-Disposition": f'attachment; filename="{saved}{"" if table else ".txt"}"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    size = os.fstat(file.fileno()).st_size

    def read() -> Any:
        with file:
            left = size  # a file that grows has no end
            while left > 0 and (piece := file.read(min(_PIECE, left))):
                left -= len(piece)
                yield piece

    kind = "application/octet-stream" if table else "text/plain; charset=utf-8"
    return StreamingResponse(read(), media_type=kind, headers=headers)


def _describe_trial(trial: TrialRecord, metric: Any) -> dict[str, Any]:
    result = trial.result
    figure = result.metrics.get(metric.name) if metric else None
    return {
        "number": trial.number,
        "cell": result.trial.cell.key,
        "repetition": result.trial.repetition,
        "status": result.status,
        "category": result.category or "",
        "message": trial.message,
        "figure": "–" if figure is None else show(figure, metric.unit),
        "marks": "; ".join(mark.reason for mark in trial.marks),
        "started": trial.started,
    }


def _describe_outcome(page: Mapping[str, Any], ended: TrialRecord | None) -> str:
    if ended is None:
        begun = page["journal"][0]
        return f"{begun.get('parameters', '')}, repetition {begun.get('repetition', '')}: it has not ended."
    result = ended.result
    how = "ok" if result.status == "ok" else f"failed: {result.category}"
    return f"{result.trial.describe()}: {how}, after {show(result.seconds, 's')}."


def _list_figures(record: RunRecord, ended: TrialRecord | None) -> list[tuple[str, str]]:
    figures = ended.result.metrics if ended else {}
    return [(name, show(figures[name], one.unit)) for name, one in record.metrics.items() if name in figures]


def _describe_phase(phase: Mapping[str, Any]) -> dict[str, Any]:
    end = phase.get("exit") or {}
    facts = [
        (name.replace("_", " "), show(float(end[name]), unit))
        for name, unit in _UNITS.items()
        if end.get(name) is not None
    ]
    name = f"{phase.get('copy', '')}, {phase.get('phase', '')} on {phase.get('host', '')}"
    return {"name": name, "command": shlex.join(map(str, phase.get("argv") or ())), "facts": facts}


def _list_files(record: RunRecord, page: Mapping[str, Any]) -> list[dict[str, Any]]:
    number = page["journal"][0]["trial"]
    files = ((_name_file(record, number, path), Path(path)) for path in page["files"])
    return [{"name": name, "size": path.lstat().st_size} for name, path in files]


def _name_file(record: RunRecord, number: int, path: str) -> str:
    return str(Path(path).relative_to(record.folder.trial(number)))


def _describe_line(line: Mapping[str, Any]) -> str:
    more = ("event", "category", "message", "text")
    return " ".join(str(part) for part in (line["kind"], *(line.get(name) for name in more)) if part)
