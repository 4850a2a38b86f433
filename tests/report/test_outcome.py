"""The result in short: which metrics it speaks of, and how."""

from __future__ import annotations

from steelyard.analysis.findings import Findings
from steelyard.model.metric import Metric
from steelyard.report.junit import render_junit
from steelyard.report.sections.outcome import outcome

OWN = [Metric(f"m{n}", "GFLOP/s", "higher") for n in range(6)]
REST = [Metric(f"r{n}", "s", "lower") for n in range(3)]


def findings(build, *patterns, **design):
    record = build(
        parameters={"a": [1, 2]},
        metrics=[*REST, *OWN],
        figures=lambda cell, *_: (
            {metric.name: float(cell.parameters["a"]) for metric in (*REST, *OWN)} | {"m5": 7.0}
        ),
        design=design,
    )
    found = outcome(Findings(record, metrics=patterns))
    return [found.answer, *found.sentences]


def test_all_that_an_experiment_declares_has_a_sentence_and_the_rest_is_named(build):
    part = {"use": "command", "options": {"metrics": {metric.name: {} for metric in OWN}}}
    found = findings(build, workload=[part])
    assert [text.partition(":")[0] for text in found] == [
        *(metric.name for metric in OWN), "3 more metrics in the tables",
    ]  # fmt: skip
    assert found[0] == "m0: best 2.00 GFLOP/s [2.00, 2.00] at a=2, worst 1.00 GFLOP/s [1.00, 1.00] at a=1."
    assert found[5] == "m5: 7.00 GFLOP/s [7.00, 7.00] in all 2 cells."
    assert found[6].endswith(": r0, r1, r2.")


def test_what_rests_on_disturbed_trials_alone_is_provisional(build):
    record = build(
        parameters={"a": [1]},
        metrics=[OWN[0]],
        figures=lambda *_: {"m0": 7.0},
        marks={("a=1", n): ("disturbed", "steal") for n in range(1, 7)},
        require=["m0.median >= 5 GFLOP/s"],
    )
    findings = Findings(record)
    found = outcome(findings)
    assert (found.mood, found.verdict) == ("open", "Provisional, as no trial counts: The requirement is met.")
    assert found.failures[0].startswith("Every trial was disturbed, so all results are provisional")
    assert "no trial counts" in render_junit(findings)


def test_a_report_of_chosen_metrics_says_what_else_was_measured(build):
    found = findings(build, "m5")
    assert found[0].startswith("m5: ")
    assert found[1].startswith("8 more metrics measured but not chosen for this report: r0, r1, r2, ")
    assert len(found) == 2
