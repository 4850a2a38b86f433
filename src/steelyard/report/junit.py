"""JUnit XML, which continuous integration services show: cells, requirements, comparisons and failed trials.

Written against the schema that Jenkins' xUnit plug-in publishes, of which all readers take the parts used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from xml.etree.ElementTree import Element, SubElement, tostring

from steelyard.analysis.comparison.gate import GatedComparison
from steelyard.analysis.findings import Findings
from steelyard.analysis.requirements import JudgedRequirement, RequirementVerdict, Ruling
from steelyard.analysis.summary import CellSummary
from steelyard.printable import make_printable
from steelyard.report.sections.comparison import format_comparison
from steelyard.report.sections.needs import format_value
from steelyard.report.sections.results import figure
from steelyard.store.reader import RunRecord, TrialRecord

Seconds = Mapping[str, float]
"""By a cell's key: how long its trials took."""


def render_junit(findings: Findings, *, undecided: Literal["fail", "pass"] = "fail") -> str:
    """The document: a case for each cell with its figures, each requirement in a cell, each comparison, and
    each trial that failed. `time` is how long the trials of the cell took.

    Undecided and missing requirements are failures, or skipped tests when they are told to pass. They are
    skipped, too, in a run that a person cancelled, which has a skipped test of its own. A run in which no
    trial counts is an error, as it is to `steelyard run`.
    """
    summary = findings.summary
    suite = Element("testsuite", {"name": summary.title, "id": summary.run})
    seconds = sum_seconds(findings.record)
    if findings.record.glance().state == "cancelled":
        _add_case(suite, "run", "all of it", "skipped", "the run was cancelled")
        undecided = "pass"
    if summary.has_no_pooled_trials:
        _add_case(suite, "run", "all of it", "error", "no trial counts: all failed or are marked")
    for cell in summary.cells:
        _add_cell(suite, cell, seconds)
    for one in findings.requirements:
        for ruling in one.rulings:
            _add_ruling(suite, one, ruling, undecided, seconds)
        if not one.rulings:
            _add_case(suite, "requirement", one.sentence, "failure", "its `where` matches no cell")
    if findings.comparison:
        _add_comparisons(suite, findings.comparison, seconds)
    for cell in summary.cells:
        for trial in cell.trials:
            if trial.result.status == "failed":
                _add_failed_trial(suite, trial)
    return _render_suite(suite)


def render_junit_comparison(gated: GatedComparison, name: str, seconds: Seconds) -> str:
    """The document of a comparison alone."""
    suite = Element("testsuite", {"name": name})
    _add_comparisons(suite, gated, seconds)
    return _render_suite(suite)


def sum_seconds(record: RunRecord) -> dict[str, float]:
    """How long all trials of each cell took."""
    seconds = dict.fromkeys((cell.key for cell in record.cells), 0.0)
    for trial in record.trials:
        key = trial.result.trial.cell.key
        seconds[key] = seconds.get(key, 0.0) + trial.result.seconds
    return seconds


def _render_suite(suite: Element) -> str:
    for attribute, tag in (
        ("tests", "testcase"),
        ("failures", ".//failure"),
        ("errors", ".//error"),
        ("skipped", ".//skipped"),
    ):
        suite.set(attribute, str(len(suite.findall(tag))))
    root = Element("testsuites")
    root.append(suite)
    # XML has no control characters, not even escaped ones, so they go once all is text.
    return make_printable(
        '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"
    )


def _add_cell(suite: Element, cell: CellSummary, seconds: Seconds) -> None:
    """Its figures; a cell that was not measured is a skipped test. That trials failed is said of each."""
    lines = [f"{one.metric.name}: {_figure(*figure(one))}" for one in cell.metrics.values()]
    text = "\n".join([f"n={cell.n}", *lines])
    outcome = "" if cell.trials else "skipped"
    _add_case(suite, "cell", cell.cell.key, outcome, "not measured", text, seconds=seconds[cell.cell.key])


def _figure(median: str, interval: str, note: str, under: str = "") -> str:
    return "; ".join(filter(None, (f"{median} {interval}".rstrip(), note, under)))


def _add_ruling(
    suite: Element, one: JudgedRequirement, ruling: Ruling, undecided: str, seconds: Seconds
) -> None:
    against = f" against {one.against}" if one.against else ""
    name = f"{one.requirement.text} [{ruling.cell.key}{against}]"
    message = "; ".join(
        part for part in (str(ruling.verdict), format_value(ruling, one.metric), ruling.note) if part
    )
    outcome, took = _choose_outcome(ruling.verdict, undecided), seconds.get(ruling.cell.key, 0.0)
    _add_case(suite, "requirement", name, outcome, message, message, seconds=took)


def _choose_outcome(verdict: RequirementVerdict, undecided: str) -> Literal["", "skipped", "failure"]:
    if verdict is RequirementVerdict.MET:
        return ""
    return "skipped" if verdict is not RequirementVerdict.NOT_MET and undecided == "pass" else "failure"


def _add_comparisons(suite: Element, gated: GatedComparison, seconds: Seconds) -> None:
    """A case for each comparison, and for each objection that is of none."""
    against = {(one.cell.key, one.metric): one for one in gated.objections}
    for one in gated.comparison.compared:
        objection = against.pop((one.cell.key, one.metric.name), None)
        outcome = "failure" if objection else ""
        message = f"{objection.kind}: {objection.reason}" if objection else ""
        name = f"{one.metric.name} [{one.cell.key} against {' '.join(gated.comparison.a)}]"
        took = seconds.get(one.cell.key, 0.0)
        _add_case(suite, "comparison", name, outcome, message, format_comparison(one), seconds=took)
    for left in against.values():
        took = seconds.get(left.cell.key, 0.0)
        _add_case(suite, "comparison", f"{left.kind} [{left.cell.key}]", "failure", left.reason, seconds=took)


def _add_failed_trial(suite: Element, trial: TrialRecord) -> None:
    result = trial.result
    name = f"trial {trial.number} [{result.trial.cell.key}] repetition {result.trial.repetition}"
    _add_case(suite, "trial", name, "error", f"{result.category}: {trial.message}", seconds=result.seconds)


def _add_case(
    suite: Element,
    kind: str,
    name: str,
    outcome: str,
    message: str,
    text: str = "",
    *,
    seconds: float = 0.0,
) -> None:
    attributes = {
        "classname": f"{suite.get('name')}.{kind}",
        "name": name,
        "time": f"{seconds:.3f}",
    }
    case = SubElement(suite, "testcase", attributes)
    if outcome:
        SubElement(case, outcome, {"message": message})
    if text:
        SubElement(case, "system-out").text = text
