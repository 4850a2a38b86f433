"""The method section: what it claims, and where that comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from steelyard.analysis.overhead import Overhead
from steelyard.analysis.summary import RunSummary, summarise_run
from steelyard.report.sections.method import method
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
        "the controller (2.0 % of one core) in 60 s. What its agent used is not known of n1, n2."
        " 1 session of the run told nothing of this."
    )


def test_old_records_say_nothing_of_it(build: Build) -> None:
    assert not any("Steelyard itself used" in text for text in method(summarise_run(build())))
