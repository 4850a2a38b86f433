"""`/runs/ID`: one run, alive; its report, its file, its environment, its journal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from steelyard.analysis.damage import guard_record
from steelyard.errors import UsageError
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord
from steelyard.web.context import find_run, get_context, parse_number
from steelyard.web.live.stream import stream
from steelyard.web.quiet import find_reason_to_wait
from steelyard.web.render import respond

MOST_LINES = 200
_HEAD = ("seq", "wall", "mono", "kind")
_LONGEST_FACTS = 600
# A report has scripts of its own in the page: they run, but as a stranger's, without our cookie and origin.
_SANDBOX = "sandbox allow-scripts allow-popups; frame-ancestors 'none'"


async def show_run(request: Request) -> Response:
    """The page."""
    folder = find_run(request)
    channel = get_context(request).hub.follow_run(folder)
    view = await channel.read()
    now = channel.now
    waits = find_reason_to_wait(request) if view.over else ""
    judged = await asyncio.to_thread(lambda: _judge(folder)) if view.over and not waits else {}
    facts = {**(now._asdict() if now else {}), **judged}
    around = {"answer": None, "answer_waits": waits, "requirements": [], "asked": _list_asked(folder)}
    return respond(
        request, "run.html.j2", {**around, **facts}, parts=view.parts, number=view.number, over=view.over
    )


async def stream_run(request: Request) -> Response:
    """What changes on it."""
    return stream(request, get_context(request).hub.follow_run(find_run(request)))


async def show_report(request: Request) -> Response:
    """The report as `steelyard report` writes it; written anew, as the run may have more trials now."""
    folder = find_run(request)
    if waits := find_reason_to_wait(request):
        hint = f"it would disturb that run; wait for its end, or open runs/{folder.id}/report?now=1"
        raise UsageError(f"{waits}, so no report is written now", hint=hint)
    html = await asyncio.to_thread(lambda: _render_report(folder))
    return HTMLResponse(html, headers={"Content-Security-Policy": _SANDBOX})


async def show_file(request: Request) -> Response:
    """The experiment as it was run."""
    folder = find_run(request)
    facts = {"run": folder.id, "heading": "Experiment file", "text": RunRecord(folder).experiment_text}
    return respond(request, "text.html.j2", facts, about="The experiment as it was run.")


async def show_environment(request: Request) -> Response:
    """The machine, as it was before the run."""
    from steelyard.report.sections.environment import describe_environment

    folder = find_run(request)
    section = describe_environment(RunRecord(folder))
    groups = [group for group in (*section.groups, *section.rest) if group.rows]
    facts = {"run": folder.id, "heading": "Environment", "groups": groups, "advice": section.advice}
    return respond(request, "environment.html.j2", facts)


async def show_journal(request: Request) -> Response:
    """The newest lines of the journal, or those before a number."""
    folder = find_run(request)
    limit = parse_number(request.query_params.get("before", ""))
    with guard_record(folder.id):
        lines = list(islice(_read_lines(folder, limit), MOST_LINES))
    older = lines[-1]["seq"] if len(lines) == MOST_LINES and lines[-1]["seq"] > 1 else 0
    facts = {"run": folder.id, "heading": "Journal", "lines": lines, "older": older}
    return respond(request, "journal.html.j2", facts)


def _read_lines(folder: RunFolder, before: int | None) -> Iterator[dict[str, Any]]:
    """The newest first."""
    for line in reversed(RunRecord(folder).journal):
        if before is None or line["seq"] < before:
            more = {name: value for name, value in line.items() if name not in _HEAD}
            facts = json.dumps(more, ensure_ascii=False)[:_LONGEST_FACTS] if more else ""
            yield {"seq": line["seq"], "wall": line["wall"], "kind": line["kind"], "facts": facts}


def _judge(folder: RunFolder) -> dict[str, Any]:
    """What came of a run that is over: the answer, and the requirements with their verdicts."""
    from steelyard.analysis.findings import Findings
    from steelyard.report.derived_lines import sections
    from steelyard.report.page import describe_within
    from steelyard.report.sections.needs import needs
    from steelyard.report.sections.outcome import outcome

    findings = Findings(RunRecord(folder))
    with guard_record(folder.id):
        answer = outcome(findings, sections(findings.derived), describe_within(findings))
        judged = needs(findings.requirements)
    short = [{"text": one.text, "verdict": str(one.verdict), "short": one.short} for one in judged]
    return {"answer": answer, "requirements": short}


def _render_report(folder: RunFolder) -> str:
    from steelyard.analysis.findings import Findings
    from steelyard.report import html
    from steelyard.report.page import build_page

    return html.render(build_page(Findings(RunRecord(folder))))


def _list_asked(folder: RunFolder) -> list[str]:
    """The requirements of the file, in its words."""
    with guard_record(folder.id):
        return [str(one.get("text") or one) for one in RunRecord(folder).design.get("require", ())]
