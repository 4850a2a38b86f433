"""The result in short: a verdict, facts, findings, warnings."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal, NamedTuple

from steelyard.analysis.cell_metric import CellMetric, too_few
from steelyard.analysis.drift import drift
from steelyard.analysis.requirements import Judged, Verdict
from steelyard.analysis.summary import RunSummary
from steelyard.model.metric import Metric
from steelyard.report.numbers import show_interval
from steelyard.report.sections.cautions import cautions
from steelyard.report.sections.place import machine
from steelyard.report.wording import all_counted, counted, listed
from steelyard.store.reader import RunRecord
from steelyard.units import show_span

Mood = Literal["good", "bad", "open", "none"]
MOST_FINDINGS = 4
_ENDINGS = {
    "running": "The run is still going on: this is what it has measured so far.",
    "submitted": "The run waits in the queue of a batch scheduler: this is what it has measured so far.",
    "interrupted": "The run was interrupted: this is what it had measured by then.",
    "died": "The run ended without a word, as after a kill or a power cut: this is what it had measured.",
    "failed": "The run could not be carried on: this is what it had measured by then.",
    "budget": "The time budget was spent before every repetition was made.",
}


class Outcome(NamedTuple):
    """`mood` colours the headline. `facts` are pairs of name and text."""

    mood: Mood
    headline: str
    facts: list[tuple[str, str]]
    findings: list[str]
    warnings: list[str]
    sequential: str


def outcome(record: RunRecord, summary: RunSummary, judged: Sequence[Judged]) -> Outcome:
    """What a reader with ten seconds should know."""
    mood, headline = _verdict(summary, judged)
    ending = _ending(record)
    findings = [_finding(summary, metric) for metric in summary.primary[:MOST_FINDINGS]]
    return Outcome(
        mood,
        headline,
        _facts(record, summary),
        [finding for finding in findings if finding],
        [*([ending] if ending else []), *record.warnings, *cautions(summary), *doubts(summary)],
        summary.sequential,
    )


def _verdict(summary: RunSummary, judged: Sequence[Judged]) -> tuple[Mood, str]:
    if not any(cell.n for cell in summary.cells):
        disturbed = any(one.under for cell in summary.cells for one in cell.metrics.values())
        figures = " Figures are those of disturbed trials." if disturbed else ""
        return "bad", f"No trial gave a figure that counts.{figures}"
    if not judged:
        return "none", "The experiment sets no requirements."
    found = [one.verdict for one in judged]
    parts = [f"{found.count(verdict)} {verdict}" for verdict in Verdict if verdict in found]
    if set(found) == {Verdict.MET}:
        return "good", f"{_all(len(found))} met."
    mood: Mood = "bad" if Verdict.NOT_MET in found else "open"
    return mood, f"Of {counted(len(found), 'requirement')}: {', '.join(parts)}."


def _all(count: int) -> str:
    return "The requirement is" if count == 1 else f"All {count} requirements are"


def _ending(record: RunRecord) -> str:
    """A sentence when the run did not end as it should; empty otherwise."""
    if record.journal and record.journal[-1].get("reason") == "budget":
        return _ENDINGS["budget"]
    return _ENDINGS.get(record.glance().state, "")


def _facts(record: RunRecord, summary: RunSummary) -> list[tuple[str, str]]:
    walls = [line["wall"] for line in record.journal if isinstance(line.get("wall"), int | float)]
    return [
        ("Run", summary.run),
        ("Started", _moment(walls[0]) if walls else "unknown"),
        ("Took", show_span(walls[-1] - walls[0]) if walls else "unknown"),
        ("Cells", str(len(summary.cells))),
        ("Trials", _trials(summary)),
        ("Machine", machine(record) or "not recorded"),
    ]


def _moment(wall: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(wall))
    except (ValueError, OverflowError, OSError):
        return "unknown"


def _trials(summary: RunSummary) -> str:
    failed = sum(cell.failures for cell in summary.cells)
    marked = sum(cell.marks for cell in summary.cells)
    parts = [f"{count} {word}" for count, word in ((marked, "marked"), (failed, "failed")) if count]
    return f"{summary.trials}" + (f", of these {' and '.join(parts)}" if parts else ", all counted")


def _finding(summary: RunSummary, metric: Metric) -> str:
    """The range of a metric's medians over the cells, in a sentence."""
    found = [cell.metrics[metric.name] for cell in summary.cells]
    pairs = [(cell.cell.key, one) for cell, one in zip(summary.cells, found, strict=True) if one.shown]
    if not pairs:
        return ""
    low, high = (pick(pairs, key=lambda pair: _median(pair[1])) for pick in (min, max))
    if len(pairs) == 1:
        return f"{metric.name}: {_said(low[1])}."
    if metric.better == "none":
        return f"{metric.name}: from {_said(low[1])} at {low[0]} to {_said(high[1])} at {high[0]}."
    best, worst = (high, low) if metric.better == "higher" else (low, high)
    return f"{metric.name}: best {_said(best[1])} at {best[0]}, worst {_said(worst[1])} at {worst[0]}."


def _median(one: CellMetric) -> float:
    return one.shown.median if one.shown else 0.0


def _said(one: CellMetric) -> str:
    if one.shown is None:
        return ""
    figures = " ".join(show_interval(one.shown.median, one.shown.interval, one.metric.unit)).rstrip()
    return figures + (f" ({all_counted(one)})" if one.under else "")


def doubts(summary: RunSummary) -> list[str]:
    """What makes the intervals less sure than they look."""
    texts = []
    for metric in summary.primary[:MOST_FINDINGS]:
        whole = drift(summary, metric) if len(summary.cells) > 1 else None
        if whole and whole.warning:
            texts.append(f"{metric.name}, all cells together: {whole.warning}.")
        if short := [count for cell in summary.cells for count in cell.metrics[metric.name].short]:
            texts.append(f"{too_few(metric, short)}: let them run longer.")
        cells = [
            cell.cell.key
            for cell in summary.cells
            if (found := cell.metrics[metric.name].independence) and found.warning
        ]
        if cells:
            texts.append(f"{metric.name}: repetitions are not independent in {listed(cells)}.")
    return texts
