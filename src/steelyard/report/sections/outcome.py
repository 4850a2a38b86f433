"""The result in short: the answer, the verdict on requirements, what else was found, warnings, facts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from steelyard.analysis.cell_metric import CellMetric, explain_too_few
from steelyard.analysis.damage import guard_record
from steelyard.analysis.findings import Findings
from steelyard.analysis.over_time.drift import Drift
from steelyard.analysis.requirements import JudgedRequirement, RequirementVerdict
from steelyard.analysis.summary import RunSummary
from steelyard.model.metric import Metric
from steelyard.report.sections.cautions import cautions
from steelyard.report.sections.environment import describe_machine
from steelyard.report.sections.results import figure
from steelyard.report.wording import format_list
from steelyard.store.reader import RunRecord
from steelyard.units import format_count, show_span

if TYPE_CHECKING:  # they load numpy, which showing most runs does not need
    from steelyard.report.sections.comparison import ComparisonSection
    from steelyard.report.sections.section import Section

Mood = Literal["good", "bad", "open", "none"]
MOST_SENTENCES = 4
_ENDINGS = {
    "suspended": "The run is suspended: these are the results so far; `steelyard continue` goes on with it.",
    "running": "The run is still in progress: these are the results so far.",
    "submitted": "The run is in the queue of a batch scheduler: these are the results so far.",
    "interrupted": "The run was interrupted: these are the results up to then.",
    "cancelled": "The run was cancelled: these are the results up to then.",
    "died": "The run died, as after a kill or a power cut: these are the results up to then.",
    "failed": "The run failed: these are the results up to then.",
    "budget": "The time budget ran out before all repetitions were made.",
}


class RunOutcome(NamedTuple):
    """`answer` is what the run was made for, in a sentence, and `sentences` are what else it says.

    `failures` say which trials failed, or that none counts; `verdict` is on the requirements, empty without
    any, and `mood` colours it. `facts` are pairs of name and text.
    """

    answer: str
    failures: list[str]
    mood: Mood
    verdict: str
    facts: list[tuple[str, str]]
    sentences: list[str]
    warnings: list[str]
    sequential: str


def outcome(
    findings: Findings, derived: Sequence[Section] = (), compared: ComparisonSection | None = None
) -> RunOutcome:
    """What a reader with ten seconds should know. What was compared or searched for is the answer."""
    record, summary = findings.record, findings.shown
    ending = _ending(record)
    mood, verdict = _merge_gate(_verdict(findings.requirements), compared)
    if verdict and summary.has_no_pooled_trials and summary.has_disturbed:
        mood, verdict = ("open" if mood == "good" else mood), f"Provisional, as no trial counts: {verdict}"
    first = [compared.answer] if compared else []
    sentences = [*first, *_answer(record, summary, derived)] or ["The run has no figures."]
    return RunOutcome(
        sentences[0],
        [*_failures(summary), *_provisos(summary)],
        mood,
        verdict,
        _facts(record, summary),
        sentences[1:],
        [
            *([ending] if ending else []),
            *_alerts(record),
            *record.warnings,
            *cautions(summary),
            *doubts(findings),
        ],
        summary.sequential,
    )


def _answer(record: RunRecord, summary: RunSummary, derived: Sequence[Section]) -> list[str]:
    """Sentences, the one that answers first."""
    asked = 1 if record.design.get("find") else 0
    limit, others = (_sentences(part) for part in (derived[:asked], derived[asked:]))
    figures = [_describe_range(summary, metric) for metric in summary.leading]
    return [*limit, *filter(None, [*figures, _describe_other_metrics(summary)]), *others[:MOST_SENTENCES]]


def _sentences(sections: Sequence[Section]) -> list[str]:
    return [f"{sentence}." for section in sections for sentence in section.sentences]


def _failures(summary: RunSummary) -> Iterator[str]:
    """`6 of 12 trials failed: 4 crashed, 2 timed-out; in way=crash, way=hang.`; nothing where all is well."""
    kinds: Counter[str] = Counter()
    for cell in summary.cells:
        kinds.update({tally.what: len(tally.trials) for tally in cell.failed})
    if kinds:
        listing = ", ".join(f"{count} {what}" for what, count in kinds.items())
        cells = format_list([cell.cell.key for cell in summary.cells if cell.failed])
        where = f"; in {cells}" if len(summary.cells) > 1 else ""
        yield f"{kinds.total()} of {format_count(summary.trials, 'trial')} failed: {listing}{where}."


def _provisos(summary: RunSummary) -> Iterator[str]:
    """Why no result of the run is final."""
    if summary.has_no_pooled_trials and summary.has_disturbed:
        yield (
            "Every trial was disturbed, so all results are provisional:"
            f" `steelyard show {summary.run} --disturbed include` counts them."
        )
    elif summary.has_no_pooled_trials:
        yield "No trial produced a figure that counts."


def _verdict(judged: Sequence[JudgedRequirement]) -> tuple[Mood, str]:
    if not judged:
        return "none", ""
    verdicts = [one.verdict for one in judged]
    parts = [f"{verdicts.count(verdict)} {verdict}" for verdict in RequirementVerdict if verdict in verdicts]
    mood = _choose_mood(verdicts)
    if len(set(verdicts)) == 1:
        subject = "The requirement is" if len(verdicts) == 1 else f"All {len(verdicts)} requirements are"
        return mood, f"{subject} {verdicts[0]}."
    return mood, f"Of {format_count(len(verdicts), 'requirement')}: {', '.join(parts)}."


def _choose_mood(verdicts: Sequence[RequirementVerdict]) -> Mood:
    if RequirementVerdict.NOT_MET in verdicts:
        return "bad"
    return "good" if set(verdicts) == {RequirementVerdict.MET} else "open"


def _merge_gate(of_needs: tuple[Mood, str], compared: ComparisonSection | None) -> tuple[Mood, str]:
    """The worse of the moods, and what both say."""
    if not (compared and compared.verdict):
        return of_needs
    order: tuple[Mood, ...] = ("bad", "open", "good", "none")
    mood = min(of_needs[0], compared.mood, key=order.index)
    return mood, " ".join(filter(None, (compared.verdict, of_needs[1])))


def _alerts(record: RunRecord) -> list[str]:
    """Which rules of the file held, and in which trials."""
    with guard_record(record.id):
        return [
            f"Alert: {when} held in trial {format_list(sorted(set(trials)), 8)}."
            for when, trials in record.alerts.items()
        ]


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
        ("Machine", describe_machine(record) or "not recorded"),
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


def _describe_range(summary: RunSummary, metric: Metric) -> str:
    """The range of a metric's medians over the cells, in a sentence."""
    cell_metrics = [cell.metrics[metric.name] for cell in summary.cells]
    pairs = [
        (cell.cell.key, one)
        for cell, one in zip(summary.cells, cell_metrics, strict=True)
        if one.shown_summary
    ]
    if not pairs:
        return ""
    low, high = (pick(pairs, key=lambda pair: _median(pair[1])) for pick in (min, max))
    if len(pairs) == 1:
        return f"{metric.name}: {_format_median(low[1])}."
    if _median(low[1]) == _median(high[1]):
        return f"{metric.name}: {_format_median(low[1])} in all {len(pairs)} cells."
    least, most = (f"{_format_median(one)} at {key}" for key, one in (low, high))
    if metric.better == "none":
        return f"{metric.name}: from {least} to {most}."
    best, worst = (most, least) if metric.better == "higher" else (least, most)
    return f"{metric.name}: best {best}, worst {worst}."


def _describe_other_metrics(summary: RunSummary) -> str:
    """Which metrics no sentence is about; empty if there are none."""
    names = summary.list_other_metrics(summary.leading)
    where = "measured but not chosen for this report" if summary.has_selected_metrics else "in the tables"
    return f"{format_count(len(names), 'more metric')} {where}: {format_list(names, 6)}." if names else ""


def _median(one: CellMetric) -> float:
    return one.shown_summary.median if one.shown_summary else 0.0


def _format_median(one: CellMetric) -> str:
    median, interval, _, disturbance = figure(one)
    return " ".join(filter(None, (median, interval, f"({disturbance})" if disturbance else "")))


def doubts(findings: Findings) -> list[str]:
    """What makes the intervals less sure than they look."""
    texts = []
    for metric in findings.shown.leading:
        texts += _describe_drifts([drift for drift in findings.drifts if drift.metric == metric])
        if short := [
            count for cell in findings.shown.cells for count in cell.metrics[metric.name].short_sample_counts
        ]:
            texts.append(f"{explain_too_few(metric, short)}: make trials run longer.")
    return texts


def _describe_drifts(found: Sequence[Drift]) -> list[str]:
    """All cells together first; then those that drift by themselves, each alarm with its size."""
    whole = [f"{one.metric.name}, all cells together: {one}" for one in found if one.cell is None]
    cells = [f"in {one.cell.key} {one}" if one.cell.parameters else str(one) for one in found if one.cell]
    texts = whole + ([f"{found[0].metric.name}: {format_list(cells)}"] if cells else [])
    return [f"{text}." for text in texts]
