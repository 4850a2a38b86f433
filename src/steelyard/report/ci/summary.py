"""A short Markdown summary, for the page of a GitHub or GitLab job, or a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.analysis.findings import Findings
from steelyard.analysis.summary import CellSummary
from steelyard.model.metric import Metric
from steelyard.printable import make_printable
from steelyard.report.derived_lines import sections
from steelyard.report.markdown import escape, quote_code
from steelyard.report.sections.outcome import RunOutcome, outcome
from steelyard.report.sections.section import Section, summary_text
from steelyard.report.wording import format_verdicts

MOST_COLUMNS, MOST_ROWS = 4, 30
_SIGNS = {"good": "✅", "bad": "❌", "open": "❔", "none": "ℹ️"}


def render_summary(findings: Findings) -> str:
    """The verdict, the answer, requirements, the file's own comparison, and a table of the main figures."""
    short = outcome(findings, sections(findings.derived))
    parts = [
        *_render_head(findings, short),
        *_render_comparison(findings),
        *_render_figures(findings),
        *(f"- {escape(text)}" for text in short.warnings),
        f"\nRun `{findings.record.id}`",
    ]
    return make_printable("\n".join(parts) + "\n")


def _render_head(findings: Findings, short: RunOutcome) -> Iterator[str]:
    yield f"### {_SIGNS[short.mood]} {escape(findings.summary.title)}\n"
    yield from (f"{escape(text)}\n" for text in (short.verdict, short.answer, *short.failures) if text)
    for one in findings.requirements:
        yield f"- {quote_code(one.sentence)} {escape(format_verdicts(one))}"
    yield ""


def _render_comparison(findings: Findings) -> Iterator[str]:
    if findings.comparison:
        from steelyard.report.sections.comparison import sections as compare_sections

        for part in compare_sections(findings.comparison.comparison):
            yield from _render_table(part)


def _render_table(part: Section) -> Iterator[str]:
    yield f"**{escape(part.heading)}**\n"
    yield from _format_rows([part.head, *part.rows[:MOST_ROWS]])


def _render_figures(findings: Findings) -> Iterator[str]:
    metrics, cells = findings.shown.primary[:MOST_COLUMNS], findings.shown.cells
    rows = [(cell.cell.key, *(_figure(cell, metric) for metric in metrics)) for cell in cells[:MOST_ROWS]]
    yield from _format_rows([("cell", *(metric.name for metric in metrics)), *rows])
    if len(cells) > MOST_ROWS:
        yield f"and {len(cells) - MOST_ROWS} more cells\n"


def _figure(cell: CellSummary, metric: Metric) -> str:
    summary = cell.metrics[metric.name].shown_summary
    return summary_text(summary, metric.unit) if summary else "–"


def _format_rows(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    lines = [f"| {' | '.join(escape(text) for text in row)} |" for row in rows]
    yield "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:], ""])
