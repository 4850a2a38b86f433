"""The method section: what it claims, and where that comes from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.analysis.claims import load_claims
from steelyard.analysis.findings import Findings
from steelyard.analysis.overhead import Overhead
from steelyard.analysis.summary import RunSummary, summarise_run
from steelyard.report.plain import plain_run
from steelyard.report.sections import cautions as cautions_file
from steelyard.report.sections.cautions import cautions
from steelyard.report.sections.method import method
from steelyard.report.table import result_lines
from steelyard.store.reader import RunRecord

Build = Callable[..., RunRecord]


def of_itself(build: Build, agents: Mapping[str, float], *unknown: str, untold: int = 0) -> str:
    summary: RunSummary = replace(
        summarise_run(build()), overhead=Overhead(60.0, 1.2, agents, unknown, untold)
    )
    return method(summary)[-1]


def test_what_steelyard_itself_cost(build: Build) -> None:
    assert of_itself(build, {"n1": 0.2, "n2": 0.1}) == (
        "Steelyard itself used 1.2 s of CPU time in the controller (2.0 % of one core) and 300 ms of CPU time"
        " in its agents on the hosts (0.50 % of one core) in 60 s."
    )


def test_what_is_not_known_of_that_is_said(build: Build) -> None:
    assert of_itself(build, {}, "n1", "n2", untold=1).endswith(
        "the controller (2.0 % of one core) in 60 s. The agent's use is unknown for n1, n2."
        " 1 session of the run did not report this."
    )


def test_old_records_say_nothing_of_it(build: Build) -> None:
    assert not any("Steelyard itself used" in text for text in method(summarise_run(build())))


UNTIL = {"at_least": 6, "at_most": 20, "until": {"metric": "write_bandwidth", "within": 0.5}, "budget": None}


def of(build: Build, outliers: str = "none", **design: object) -> Findings:
    return Findings(build(repetitions=8, outliers=outliers, design=design))


@pytest.mark.parametrize("outliers", ["none", "tukey", "mad", "extremes"])
def test_every_claim_names_its_simulation_and_its_date(build: Build, outliers: str) -> None:
    """All figures but those that are computed, or that the reader's own run gives."""
    known = {f"{one.simulation}, simulated {one.date}" for one in load_claims()}
    text = " ".join(method(of(build, outliers, repeat=UNTIL).summary))
    claimed = re.findall(r"contained the median[^(]*\(([^)]*)\)", text)
    assert len(claimed) == text.count("contained the median") == (3 if outliers == "none" else 4)
    assert set(claimed) <= known


def test_no_figure_is_typed_into_a_sentence() -> None:
    """But for the confidence that is promised."""
    folder = Path(cautions_file.__file__).parent
    for name in ("method.py", "cautions.py"):
        assert set(re.findall(r"[0-9.]+ %", (folder / name).read_text())) <= {"95 %"}, name


@pytest.mark.parametrize("outliers", ["tukey", "mad"])
def test_a_policy_is_shown_with_what_it_does_to_intervals(build: Build, outliers: str) -> None:
    findings = of(build, outliers)
    (caution,) = cautions(findings.summary)
    start = f"outliers: intervals after `{outliers}` contained the median of all values in "
    assert caution.startswith(start)
    assert "% on bimodal data (coverage." in caution
    assert caution in "\n".join(result_lines(findings))
    assert plain_run(findings)["cautions"] == [caution]


def test_cells_that_stopped_early_say_how_sure_such_cells_are(build: Build) -> None:
    (caution,) = cautions(of(build, repeat=UNTIL).summary)
    assert caution.startswith(
        "3 of 3 cells stopped early, at n=8: intervals of such cells contained the median in "
    )
    assert "(coverage.early, simulated " in caution


def test_a_fixed_number_needs_no_caution(build: Build) -> None:
    assert cautions(of(build).summary) == []
