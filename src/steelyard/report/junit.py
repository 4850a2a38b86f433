"""JUnit XML, which continuous integration services show: requirements as test cases, failed trials as errors.

Written against the schema that Jenkins' xUnit plug-in publishes, of which all readers take the parts used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from xml.etree.ElementTree import Element, SubElement, tostring

from steelyard.analysis.requirements import Judged, Ruling, Verdict
from steelyard.analysis.summary import RunSummary
from steelyard.model.metric import Metric
from steelyard.printable import printable
from steelyard.report.numbers import show_interval
from steelyard.store.reader import TrialRecord


def junit(
    summary: RunSummary,
    judged: Sequence[Judged],
    *,
    undecided: Literal["fail", "pass"] = "fail",
    cancelled: bool = False,
) -> str:
    """The document. Undecided and missing are failures, or skipped tests when they are told to pass.

    They are skipped, too, in a run that a person cancelled, which has a skipped test of its own.
    """
    suite = Element("testsuite", {"name": summary.title, "id": summary.run})
    if cancelled:
        _case(suite, "run", "all of it", "skipped", "the run was cancelled")
        undecided = "pass"
    for one in judged:
        for ruling in one.rulings:
            _ruling(suite, one, ruling, undecided)
        if not one.rulings:
            _case(suite, "requirement", one.requirement.text, "failure", "its `where` picks no cell")
    for cell in summary.cells:
        for trial in cell.trials:
            if trial.result.status == "failed":
                _failed(suite, trial)
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
    return printable('<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n")


def _ruling(suite: Element, one: Judged, ruling: Ruling, undecided: str) -> None:
    name = f"{one.requirement.text} [{ruling.cell.key}]"
    message = "; ".join(
        part for part in (str(ruling.verdict), _value(ruling, one.metric), ruling.note) if part
    )
    if ruling.verdict is Verdict.MET:
        _case(suite, "requirement", name, "", "")
    elif ruling.verdict is not Verdict.NOT_MET and undecided == "pass":
        _case(suite, "requirement", name, "skipped", message)
    else:
        _case(suite, "requirement", name, "failure", message)


def _failed(suite: Element, trial: TrialRecord) -> None:
    result = trial.result
    name = f"trial {trial.number} [{result.trial.cell.key}] repetition {result.trial.repetition}"
    _case(suite, "trial", name, "error", f"{result.category}: {trial.message}", seconds=result.seconds)


def _case(suite: Element, kind: str, name: str, outcome: str, message: str, *, seconds: float = 0.0) -> None:
    attributes = {
        "classname": f"{suite.get('name')}.{kind}",
        "name": name,
        "time": f"{seconds:.3f}",
    }
    case = SubElement(suite, "testcase", attributes)
    if outcome:
        SubElement(case, outcome, {"message": message})


def _value(ruling: Ruling, metric: Metric | None) -> str:
    if ruling.value is None or metric is None:
        return ""
    return " ".join(show_interval(ruling.value, ruling.interval, metric.unit)).rstrip()
