"""The result of a run on a terminal: plain lines, also when they are piped."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from steelyard.analysis.cell_metric import CellMetric
from steelyard.analysis.findings import Findings
from steelyard.analysis.requirements import JudgedRequirement
from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.model.metric import Metric
from steelyard.printable import make_one_line
from steelyard.report.bars import WIDTH, draw_bars
from steelyard.report.columns import GAP, align, shorten, width
from steelyard.report.numbers import show_interval
from steelyard.report.sections.cautions import cautions
from steelyard.report.sections.outcome import doubts
from steelyard.report.sections.results import figure
from steelyard.report.wording import (
    describe_all_counted,
    format_levels,
    format_list,
    format_marks,
    format_verdicts,
)
from steelyard.stats.interval import smallest_n
from steelyard.stats.summary import Summary
from steelyard.units import format_count

NO_INTERVAL = "[–]"
DISTURBED = "*"
WIDEST_MARKS, WIDEST_REASON, MOST_NOTES, MOST_NAMES, MOST_REASONS = 44, 300, 8, 6, 3
TOO_FEW = "{least} counted trials are needed: `steelyard extend {run} --repeat {repeat}`"
MORE = "`steelyard show {run} --metric NAME`"
ADVICE = (
    "   `steelyard extend {run} --repeat N` adds trials;"
    " `steelyard show {run} --disturbed include` counts all trials"
)


def result_lines(
    findings: Findings, *, columns: int | None = 100, most: int | None = None, both: bool = False
) -> list[str]:
    """The table of cells, the requirements, what failed, and what to doubt.

    As many of the primary metrics are shown as fit into `columns`, at least one, the first of them with a bar
    in each cell; None is as wide as they need, without bars. Those that a reader chose are all shown, in
    further tables where one is too wide. `most` limits the cells.
    With `both`, a cell that has disturbed trials gets a second row, in which they count.
    """
    summary = findings.shown
    lines = table_lines(summary, columns=columns, most=most, both=both)
    blocks = [lines, requirement_lines(findings.requirements), trouble_lines(summary), _notes(findings)]
    return [make_one_line(line) for block in blocks for line in block]


def table_lines(
    summary: RunSummary, *, columns: int | None = 100, most: int | None = None, both: bool = False
) -> list[str]:
    """The table alone, with its footnotes."""
    cells = summary.cells[:most]
    widest = WIDEST_MARKS if columns else sys.maxsize
    marks = [shorten(make_one_line("; ".join(format_marks(cell))), widest) for cell in cells]
    figures = [
        one.shown_summary
        for metric in summary.primary[:1]
        for one in _cell_metrics(cells, metric)
        if one.shown_summary
    ]
    drawn = bool(columns) and len(figures) > 1
    beside = width(_names(cells)[0]) + max(map(width, marks), default=0) + 3 * len(GAP) + 4
    beside += WIDTH + len(GAP) if drawn else 0
    columned = summary.list_columns(summary.primary)
    fitting = _split_metrics(cells, columned, columns - beside if columns else sys.maxsize)
    shown = fitting if summary.has_selected_metrics else fitting[:1]
    tables = [line for part in shown for line in _table(cells, part, marks, both=both, drawn=drawn)]
    return [*tables, *_footnotes(summary, cells, [metric for part in shown for metric in part])]


def _table(
    cells: Sequence[CellSummary],
    shown: Sequence[Metric],
    marks: Sequence[str],
    *,
    both: bool,
    drawn: bool,
) -> list[str]:
    head = ["cell", "n", *(_head(metric) for metric in shown), "marks" if any(marks) else ""]
    no_bar = "" if drawn else None
    rows, lengths = [_insert_bar(head, no_bar)], [no_bar] * len(cells)
    if drawn:
        lengths = [
            *draw_bars(
                [
                    one.shown_summary.median if one.shown_summary else None
                    for one in _cell_metrics(cells, shown[0])
                ]
            )
        ]
    for name, cell, mark, bar in zip(_names(cells), cells, marks, lengths, strict=True):
        measured = [cell.metrics[metric.name] for metric in shown]
        rows.append(_insert_bar([name, str(cell.n), *map(_text, measured), mark], bar))
        if both and any(one.with_disturbed for one in measured):
            rows.append(_insert_bar(_disturbed_row(measured), no_bar))
    return align(rows, right={1})


def _insert_bar(row: list[str], bar: str | None) -> list[str]:
    """The row with a bar behind its first figure; as it is where no bars are drawn."""
    return row if bar is None else [*row[:3], bar, *row[3:]]


def _cell_metrics(cells: Sequence[CellSummary], metric: Metric) -> list[CellMetric]:
    return [cell.metrics[metric.name] for cell in cells]


def requirement_lines(judged: Sequence[JudgedRequirement]) -> list[str]:
    """`require  write_bandwidth.median >= 200 MiB/s  met in 4 of 4 cells`."""
    rows = [["require", make_one_line(one.sentence), make_one_line(format_verdicts(one))] for one in judged]
    return align(rows) if rows else []


def trouble_lines(summary: RunSummary) -> list[str]:
    """`2 trials failed: crashed (trial 7, 12)`, by category, and each reason with the first that has it."""
    trials_by_category: dict[str, list[int]] = {}
    why = {trial.number: trial.message for cell in summary.cells for trial in cell.trials}
    for cell in summary.cells:
        for tally in cell.failed:
            trials_by_category.setdefault(make_one_line(tally.what), []).extend(tally.trials)
    lines = []
    for what, numbers in trials_by_category.items():
        lines.append(
            f"{format_count(len(numbers), 'trial')} failed: {what} (trial {format_list(sorted(numbers), 6)})"
        )
        first = {why[number]: number for number in sorted(numbers, reverse=True) if why.get(number)}
        reasons = sorted((number, message) for message, number in first.items())
        for number, message in reasons[:MOST_REASONS]:
            lines.append(f"     trial {number}: {shorten(make_one_line(message), WIDEST_REASON)}")
        if len(reasons) > MOST_REASONS:
            more = format_count(len(reasons) - MOST_REASONS, "more reason")
            lines.append(f"     … and {more}; `steelyard show {summary.run} --trial N` shows each")
    return lines


def _names(cells: Sequence[CellSummary]) -> list[str]:
    """The cells' names with their parameters below each other."""
    rows = [[make_one_line(level) for level in format_levels(cell.cell)] for cell in cells]
    return align(rows) if len({len(row) for row in rows}) == 1 else [GAP.join(row) for row in rows] or [""]


def _split_metrics(cells: Sequence[CellSummary], metrics: Sequence[Metric], room: int) -> list[list[Metric]]:
    """The metrics in as many tables as are needed, each with as many of them as have room."""
    parts: list[list[Metric]] = [[]]
    left = room
    for metric in metrics:
        texts = [_head(metric), *(_text(cell.metrics[metric.name]) for cell in cells)]
        needs = max(map(width, texts)) + len(GAP)
        if parts[-1] and needs > left:
            parts.append([])
            left = room
        parts[-1].append(metric)
        left -= needs
    return parts


def _head(metric: Metric) -> str:
    return f"{make_one_line(metric.name)}  median [95 %]"


def _text(one: CellMetric) -> str:
    """`2.05 GiB/s [1.96, 2.11]`, with `*` of all trials; `(2.05 GiB/s)` where only fallbacks have figures."""
    shown = figure(one)
    if one.shown_summary is None:
        return shown.median
    return f"{shown.median} {shown.interval or NO_INTERVAL}" + (f" {DISTURBED}" if shown.disturbance else "")


def _disturbed_row(measured: Sequence[CellMetric]) -> list[str]:
    """The row of a cell with its disturbed trials counted in."""
    everything = [one.with_disturbed for one in measured]
    texts = [
        one.sign + _median(each.summary, one.metric) if each else "–"
        for one, each in zip(measured, everything, strict=True)
    ]
    first = next(filter(None, everything))
    return ["  with disturbed trials", str(first.summary.n_total), *texts, first.disturbance]


def _median(summary: Summary, metric: Metric) -> str:
    median, interval = show_interval(summary.median, summary.interval, metric.unit)
    return f"{median} {interval or NO_INTERVAL}"


def _footnotes(summary: RunSummary, cells: Sequence[CellSummary], shown: Sequence[Metric]) -> list[str]:
    cell_metrics = [one for cell in cells for metric in shown if (one := cell.metrics[metric.name])]
    without = [
        one.shown_summary.interval_reason
        for one in cell_metrics
        if one.shown_summary and not one.shown_summary.interval
    ]
    nothing = [one.reason for one in cell_metrics if one.shown_summary is None and one.marked_median is None]
    marked = [
        one.reason for one in cell_metrics if one.shown_summary is None and one.marked_median is not None
    ]
    bounds = dict.fromkeys(one.metric.name for one in cell_metrics if one.is_upper_bound)
    disturbed = _disturbance_notes(cells, shown)
    least = smallest_n(trimmed=int(summary.outliers == "extremes"))
    enough = TOO_FEW.format(run=summary.run, least=least, repeat=_required_repetitions(cells, shown, least))
    notes = [f"{NO_INTERVAL}  {make_one_line(reason)}; {enough}" for reason in dict.fromkeys(without)]
    notes += [f"–  {make_one_line(reason)}" for reason in dict.fromkeys(nothing)]
    notes += [
        f"( )  median of marked trials, no result: {make_one_line(why)}" for why in dict.fromkeys(marked)
    ]
    notes += [f"≤  {name} is an upper bound: what starts the program may use as much" for name in bounds]
    notes += [*disturbed, ADVICE.format(run=summary.run)] if disturbed else []
    if not summary.has_selected_metrics and (more := summary.list_other_metrics(shown)):
        which = format_list([make_one_line(name) for name in more], MOST_NAMES)
        notes.append(f"{format_count(len(more), 'more metric')}: {which}; {MORE.format(run=summary.run)}")
    if len(cells) < len(summary.cells):
        notes.append(f"… and {format_count(len(summary.cells) - len(cells), 'more cell')}")
    return notes


def _required_repetitions(cells: Sequence[CellSummary], shown: Sequence[Metric], least: int) -> int:
    """As many repetitions as give every cell an interval, if those to come count."""
    needed = [least]
    for cell in cells:
        made = max((trial.result.trial.repetition for trial in cell.trials), default=0)
        counts = [one.shown_summary.n for metric in shown if (one := cell.metrics[metric.name]).shown_summary]
        needed += [made + least - count for count in counts if count < least]
    return max(needed)


def _disturbance_notes(cells: Sequence[CellSummary], shown: Sequence[Metric]) -> list[str]:
    """What disturbed the trials of the figures with a star, and in which cells where there are several."""
    cells_by_note: dict[str, dict[str, None]] = {}
    for cell in cells:
        for metric in shown:
            if said := describe_all_counted(cell.metrics[metric.name]):
                cells_by_note.setdefault(said, {})[cell.cell.key] = None
    where = {
        said: f": {format_list(list(keys))}" if len(cells) > 1 else "" for said, keys in cells_by_note.items()
    }
    notes = [f"{DISTURBED}  {said}{which}" for said, which in where.items()]
    more = len(notes) - MOST_NOTES
    return notes[:MOST_NOTES] + ([f"{DISTURBED}  … and {more} more; the report has all"] if more > 0 else [])


def _notes(findings: Findings) -> list[str]:
    summary = findings.shown
    notes = [f"repetitions {summary.sequential}"] if summary.sequential else []
    dropped = sum(
        one.summary.dropped for cell in summary.cells for one in cell.metrics.values() if one.summary
    )
    if summary.outliers != "none":
        notes.append(f"outliers: {summary.outliers} set aside {format_count(dropped, 'value')}")
    return notes + [make_one_line(text) for text in (*cautions(summary), *doubts(findings))]
