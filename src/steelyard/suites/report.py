"""A suite's summary: on a terminal, as Markdown in the order of IEEE 829, and as plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from steelyard.printable import make_one_line, make_printable
from steelyard.report.columns import align
from steelyard.report.markdown import escape, quote_code
from steelyard.suites.summary import WORST_FIRST, SuiteSummary, UnitSummary
from steelyard.units import format_count, show_span

_SIGNS = {
    "passed": "✅",
    "not-met": "❌",
    "failed": "❌",
    "undecided": "❔",
    "interrupted": "❔",
    "not-run": "❔",
}


def format_answer(summary: SuiteSummary) -> str:
    """`2 of 3 experiments passed, 1 not met.`"""
    counts, every = summary.counts, format_count(len(summary.units), "experiment")
    others = [f"{counts[one]} {_word(one)}" for one in WORST_FIRST if counts[one] and one != "passed"]
    if not others:
        return f"All {every} passed." if len(summary.units) > 1 else "It passed."
    return ", ".join([f"{counts['passed']} of {every} passed", *others]) + "."


def suite_lines(summary: SuiteSummary) -> list[str]:
    """A table of its experiments, what is not tested, and the answer."""
    rows = [("experiment", "stands", "took", "run", "answer"), *map(_list_row, summary.units)]
    lines = [f"suite {summary.id}", "", *align([[make_one_line(text) for text in row] for row in rows]), ""]
    lines += [f"not tested  {name}: {why}" for name, why in summary.not_tested.items()]
    return [make_one_line(line) for line in (*lines, format_answer(summary))]


def _list_row(one: UnitSummary) -> tuple[str, ...]:
    return (one.name, _word(one.outcome), _took(one), one.run or "–", one.answer or one.reason)


def render_markdown(summary: SuiteSummary) -> str:
    """The test plan, the specifications, the results, the summary over all units."""
    return make_printable("\n".join(_render(summary)) + "\n")


def _render(summary: SuiteSummary) -> Iterator[str]:
    yield f"# {_SIGNS[summary.worst]} {escape(summary.name)}\n"
    yield f"{escape(format_answer(summary))}\n"
    yield "## Test plan\n"
    if summary.about:
        yield f"{escape(summary.about)}\n"
    budget = f" within {show_span(summary.budget)}" if summary.budget else ""
    yield f"{escape(format_count(len(summary.units), 'experiment'))}, one after the other{budget}.\n"
    yield "## Features not tested\n"
    untested = [f"- {escape(name)}: {escape(why)}" for name, why in summary.not_tested.items()]
    yield from untested or ["None is named."]
    yield "\n## Specifications\n"
    for one in summary.units:
        covers = f", covers {', '.join(one.covers)}" if one.covers else ""
        yield f"- **{escape(one.name)}** ({escape(one.file)}{escape(covers)})"
        yield from (f"  - {quote_code(text)}" for text, _ in one.needs)
    yield "\n## Results\n"
    for one in summary.units:
        yield from _render_result(one)
    yield "## Summary\n"
    yield "| experiment | stands | took | run |\n|---|---|---|---|"
    for one in summary.units:
        name, stands, took, run, _ = _list_row(one)
        yield f"| {escape(name)} | {_SIGNS[one.outcome]} {stands} | {took} | {escape(run)} |"


def _render_result(one: UnitSummary) -> Iterator[str]:
    yield f"### {_SIGNS[one.outcome]} {escape(one.name)}: {_word(one.outcome)}\n"
    yield from (f"{escape(text)}\n" for text in (one.reason, one.answer) if text)
    yield from (f"- {quote_code(text)} {escape(verdict)}" for text, verdict in one.needs)
    yield ""


def plain_suite(summary: SuiteSummary) -> dict[str, Any]:
    """Everything, times in seconds."""
    facts = {"answer": format_answer(summary), "stands": summary.worst, "exit_code": summary.exit_code}
    return {"schema": 1, **dataclasses.asdict(summary), **facts}


def _word(outcome: str) -> str:
    return outcome.replace("-", " ")


def _took(one: UnitSummary) -> str:
    return show_span(one.seconds) if one.seconds else "–"
