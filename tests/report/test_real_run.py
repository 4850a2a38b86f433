"""Every report of a run that was really made, on a fake site, by the real run and store."""

from __future__ import annotations

import pytest

import steelyard
from steelyard.analysis.comparison.compare import compare_runs
from steelyard.report import html, markdown
from steelyard.report.comparison import comparison_lines
from steelyard.report.export import FORMS
from steelyard.report.table import result_lines
from steelyard.testing import FakeSite, Said


def behave(command):
    seconds = float(command.argv[1])
    return (
        Said(stdout=f"score: {seconds * 10}", code=1)
        if seconds > 1
        else Said(stdout=f"score: {seconds * 10}", wall=seconds)
    )


@pytest.fixture
def run(tmp_path):
    experiment = steelyard.Experiment(
        experiment="nap",
        about="How long a nap takes",
        parameters={"seconds": [0.1, 0.2, 1.5]},
        workload={
            "use": "command",
            "run": ["sleep", "${seconds}"],
            "metrics": {"score": {"regex": "score: (.*)", "unit": "B/s", "better": "higher"}},
        },
        repeat=6,
        disturbed="include",
        require=["score.median >= 1 B/s"],
    )
    return steelyard.run(experiment, site=FakeSite(behave), store=tmp_path / "store")


def test_all_reports_can_be_made(run, tmp_path):
    record = run.record
    lines = result_lines(run.findings, columns=120)
    assert lines[0].startswith("cell         n  score  median [95 %]")
    assert any(line.startswith("seconds=0.1  6  1.00 B/s [1.00, 1.00]") for line in lines)
    assert any("6 trials failed: crashed" in line for line in lines)
    assert "require  score.median >= 1 B/s  not met in 1 of 3 cells (seconds=1.5), met in 2" in lines
    text = html.write(run.findings, record.folder.derived_folder / "report.html").read_text()
    assert "How long a nap takes" in text
    assert "sleep 0." in text  # the command, from the record of a trial
    assert "workload:" in text  # the experiment file
    assert "## Results" in markdown.write(run.findings, tmp_path / "report.md").read_text()
    for name, form in FORMS.items():
        if name == "io_properties":  # of a disk alone
            continue
        assert form.write(run.findings, tmp_path / f"run.{name}").is_file()
    assert any(
        "no detectable difference" in line for line in comparison_lines(compare_runs([record], [record]))
    )
