"""What analysis finds, computed once."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from steelyard.analysis import summary as summaries
from steelyard.analysis.comparison.compare_levels import compare_within
from steelyard.analysis.derived import derive
from steelyard.analysis.findings import Findings
from steelyard.analysis.requirements import judge
from steelyard.analysis.summary import summarise_run
from steelyard.errors import UnknownName

PARTS = ("summary", "shown", "requirements", "comparison", "derived", "drifts")
COMPARE = {"parameter": "a", "baseline": 1, "metrics": [], "fail_on": None}


def test_every_part_is_that_of_its_own_function(build):
    record = build(parameters={"a": [1, 2]}, require=["write_bandwidth > 1 B/s"], design={"compare": COMPARE})
    findings, summary = Findings(record), summarise_run(record)
    assert findings.summary == findings.shown == summary
    assert findings.requirements == judge(record, summary)
    assert findings.comparison == compare_within(record, summary)
    assert findings.derived == derive(record, summary)


def test_a_part_is_computed_once_and_cannot_be_replaced(build, monkeypatch):
    findings = Findings(build(parameters={"a": [1, 2]}))
    first = [getattr(findings, name) for name in PARTS]
    monkeypatch.delattr(summaries, "_summarise")
    assert all(getattr(findings, name) is one for name, one in zip(PARTS, first, strict=True))
    for name in PARTS:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(findings, name, None)


def test_a_policy_and_metrics_can_be_chosen(build):
    findings = Findings(build(), "tukey", ["*_bandwidth"])
    assert findings.summary.outliers == "tukey"
    assert [metric.name for metric in findings.shown.metrics] == ["write_bandwidth"]
    assert len(findings.summary.metrics) > 1
    with pytest.raises(UnknownName, match="nothing"):
        _ = Findings(build(), metrics=["nothing"]).shown


def test_showing_a_run_without_a_comparison_loads_no_numpy(build):
    record = build(parameters={"a": [1, 2]}, repetitions=2)
    code = (
        "import sys; from pathlib import Path; from steelyard.analysis.findings import Findings;"
        "from steelyard.cli.finish import print_results;"
        "from steelyard.store.layout import RunFolder; from steelyard.store.reader import RunRecord;"
        f"print_results(Findings(RunRecord(RunFolder(Path({str(record.folder.path)!r})))), as_json=False);"
        "sys.exit('numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
