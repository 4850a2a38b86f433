"""Figures of disturbed trials, in every kind of report: never an empty bracket, never without a label."""

from __future__ import annotations

import pytest

from steelyard.analysis.findings import Findings
from steelyard.model.metric import Metric
from steelyard.report import html, markdown
from steelyard.report.plain import plain_run
from steelyard.report.sections.outcome import outcome

RATE = Metric("rate", "1/s", "higher")
UNDER = "all 7 trials, under steal, median 12 %"


@pytest.fixture
def record(build):
    """Seven trials in which the hypervisor took part, and seven of which it took part in one."""
    stolen = ("disturbed", "steal: the hypervisor took 12.0 % of the CPU time", "steal", 0.12, "%")
    return build(
        parameters={"a": [1, 2]},
        metrics=[RATE],
        figures=lambda cell, repetition, rng: {"rate": float(repetition)},
        repetitions=7,
        marks={("a=1", n): stolen for n in range(1, 8)} | {("a=2", 1): stolen},
    )


@pytest.mark.parametrize("report", [html, markdown], ids=["html", "markdown"])
def test_reports_show_all_trials_with_what_disturbed_them(record, report, tmp_path):
    text = report.write(Findings(record), tmp_path / "report").read_text()
    assert UNDER in text
    assert "a=2, all trials, under steal, median 12 %" in text.replace("\\", ""), "with them, beside without"


def test_json_has_both_always(record):
    first, second = plain_run(Findings(record))["cells"]
    assert first["metrics"]["rate"]["reason"] == "no trial counts: 7 marked"
    both = second["metrics"]["rate"]
    assert (both["median"], both["with_disturbed"]["median"]) == (4.5, 4)
    assert both["with_disturbed"]["under"] == [{"what": "steal", "trials": 1, "amount": 0.12, "unit": "%"}]
    assert first["metrics"]["rate"]["with_disturbed"]["interval"]["low"] == 1


def test_the_answer_says_it_too(record):
    answer = outcome(Findings(record)).answer
    assert f"worst 4.00/s [1.00, 7.00] ({UNDER}) at a=1" in answer.replace(" /s", "/s")
