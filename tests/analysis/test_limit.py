"""The limit as it is read from a record: the bracket, its verdicts, and what is odd about it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from steelyard.analysis.derived import derive
from steelyard.analysis.limit import Limit, LimitStudy, limit_study
from steelyard.analysis.requirements import RequirementVerdict
from steelyard.analysis.summary import summarise_run
from steelyard.design import Design, Results
from steelyard.model.experiment import Experiment
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell, Result
from steelyard.store.reader import RunRecord

LATENCY = Metric("latency", "s", "lower", "how long a request took")
World = Callable[[Cell, random.Random], float | None]


def below(limit: float, noise: float = 0.02) -> World:
    """A world in which the latency reaches 20 ms at that level."""
    return lambda cell, rng: 0.02 * float(str(cell.parameters["rate"])) / limit * rng.lognormvariate(0, noise)


@pytest.fixture
def searched(plans, tmp_path) -> Callable[..., RunRecord]:
    """The record of a search in a world; `world` says a latency, or None for a trial that timed out."""

    def build(world: World, *, repeat: Any = 6, stop: int | None = None, **more: Any) -> RunRecord:
        tree = {
            "experiment": "t",
            "parameters": {"rate": {"between": [1000, 64000]}},
            "find": {"maximize": "rate", "while": "latency <= 20 ms"},
            "workload": {"use": "command", "run": ["true"]},
            **more,
        }
        what = Experiment.model_validate({**tree, "repeat": repeat})
        design, results, rng = Design(what, 1), Results(), random.Random(7)
        made = []
        while batch := design.next(results):
            for trial in batch:
                figure = world(trial.cell, rng)
                failed = {"status": "failed", "category": "timed-out", "metrics": {}}
                good = {"status": "ok", "metrics": {"latency": figure}}
                made.append((trial, failed if figure is None else good))
                said: Any = made[-1][1]
                results.add(Result(trial, said["status"], 1.0, said["metrics"], (), said.get("category")))
        assert design.search_goal
        recorded = {"find": design.search_goal.record(), "repeat": what.repeat.model_dump(mode="json")}
        cells = [dict(cell.parameters) for cell in design.cells]
        plan = plans.Plan(metrics=[LATENCY], design={**recorded, "cells": cells}, measured=lambda cell: False)
        record = plans.build(tmp_path / "store", plan)
        with plans.RunWriter(record.folder) as writer:
            for number, (trial, said) in enumerate(made[:stop], 1):
                same = {"trial": number, "repetition": trial.repetition, "seconds": 1.0}
                parameters = {"parameters": dict(trial.cell.parameters)}
                writer.journal.write("trial-ended", **same, **parameters, **said, done=number, failed=0)
        return RunRecord(record.folder)

    return build


def study(record: RunRecord) -> LimitStudy:
    return limit_study(record, summarise_run(record))


def only(record: RunRecord) -> tuple[LimitStudy, Limit]:
    found = study(record)
    (limit,) = found.limits
    return found, limit


def verdicts(limit: Limit) -> Mapping[str, str]:
    return {level.text: str(level.verdict) for level in limit.levels}


def test_a_bracket(searched):
    found, limit = only(searched(below(5300, noise=0.001)))
    assert (limit.kind, limit.holds.text, limit.fails.text) == ("bracket", "5190", "5420")
    assert limit.surely is limit.fails
    assert [level.text for level in limit.levels] == [
        "1000", "2000", "4000", "4760", "5190", "5420", "5660", "8000",
    ]  # fmt: skip
    assert found.sentence(limit) == (
        "highest rate while latency <= 20 ms: between 5190, which holds, and 5420, which does not"
    )
    assert (limit.holds.n, limit.holds.failed, limit.holds.left_out) == (6, 0, 0)
    assert limit.holds.low <= limit.holds.value <= limit.holds.high <= 0.02
    assert limit.oddities == ()


def test_the_cells_are_those_that_were_probed(searched):
    record = searched(below(5300, noise=0.001))
    levels = [cell.parameters["rate"] for cell in record.cells]
    assert levels == sorted(levels)
    assert 64000 not in levels
    assert len(levels) == 8


def test_not_even_the_lowest(searched):
    found, limit = only(searched(below(500)))
    assert (limit.kind, limit.holds, limit.fails.text) == ("none", None, "1000")
    assert found.answer(limit) == "none: at 1000 it does not hold"


def test_even_the_highest(searched):
    found, limit = only(searched(below(1e6)))
    assert (limit.kind, limit.holds.text, limit.fails) == ("all", "64000", None)
    assert found.answer(limit) == ">= 64000, a bound of the search; it holds there"


def test_the_lowest_level_is_searched_too(searched):
    """How few machines are enough."""
    find = {"minimize": "rate", "while": "latency >= 20 ms", "within": "5%"}
    found, limit = only(searched(below(5300, noise=0.001), find=find))
    assert (limit.holds.text, limit.fails.text) == ("5420", "5190")
    assert found.sentence(limit) == (
        "lowest rate while latency >= 20 ms: between 5420, which holds, and 5190, which does not"
    )
    assert only(searched(below(500), find=find))[1].kind == "all"
    assert only(searched(below(1e6), find=find))[1].kind == "none"


def test_a_search_for_each_combination(searched):
    def world(cell: Cell, rng: random.Random) -> float:
        return below({"x": 3000, "y": 20000}[str(cell.parameters["engine"])], noise=0.001)(cell, rng) or 0.0

    parameters = {"rate": {"between": [1000, 64000]}, "engine": ["x", "y"], "same": ["s"]}
    found = study(searched(world, parameters=parameters))
    assert [limit.label for limit in found.limits] == ["engine=x", "engine=y"]
    for limit, truth in zip(found.limits, (3000, 20000), strict=True):
        assert limit.holds.place <= truth <= limit.fails.place


def test_an_undecided_level_counts_as_not_met_and_is_called_undecided(searched):
    def world(cell: Cell, rng: random.Random) -> float:
        level = float(str(cell.parameters["rate"]))
        return rng.choice([0.01, 0.03]) if 4000 <= level < 8000 else 0.01 if level < 4000 else 0.03

    found, limit = only(searched(world, repeat={"at_least": 6, "at_most": 9}))
    assert limit.fails.verdict is RequirementVerdict.UNDECIDED
    assert limit.fails.n == 9
    assert "is undecided, which counts as not met" in found.answer(limit)
    assert limit.surely is None, "what is undecided is no proof"
    assert found.answer(limit).endswith("no level was significantly beyond the limit")
    decided = [level for level in limit.levels if level.verdict is not RequirementVerdict.UNDECIDED]
    assert all(level.n == 6 for level in decided)


def test_the_far_end_of_the_bracket_is_what_surely_does_not_hold(searched):
    def world(cell: Cell, rng: random.Random) -> float:
        level = float(str(cell.parameters["rate"]))
        return rng.choice([0.01, 0.03]) if 5000 <= level < 7000 else 0.01 if level < 5000 else 0.03

    found, limit = only(searched(world))
    assert limit.fails.verdict is RequirementVerdict.UNDECIDED
    assert limit.holds.place < 5000 <= limit.fails.place < 7000
    assert found.answer(limit) == (
        f"between {limit.holds.text}, which holds, and 8000, which does not; {limit.fails.text} is undecided,"
        " which counts as not met"
    )


def test_timeouts_are_no_reason_to_stop_the_search(searched):
    found, limit = only(
        searched(lambda cell, rng: 0.01 if float(str(cell.parameters["rate"])) < 3000 else None)
    )
    assert limit.holds.place < 3000 <= limit.fails.place
    assert (limit.fails.failed, limit.fails.value, limit.fails.high) == (6, None, None)
    assert limit.fails.verdict is RequirementVerdict.NOT_MET
    assert found.answer(limit).endswith("does not")


def test_a_search_that_was_cut_short_says_so(searched):
    found, limit = only(searched(below(5300), stop=15))
    assert limit.kind == "unfinished"
    assert found.answer(limit) == "not found yet: it holds at 2000"
    assert study(searched(below(5300), stop=3)).limits[0].kind == "unfinished"


def test_nothing_measured_is_no_study(searched):
    record = searched(below(5300), stop=0)
    assert derive(record, summarise_run(record)).results == ()


def test_what_is_not_monotonic_is_reported(searched, plans):
    """As after more repetitions, when a level that was left out of the way is found to hold."""
    record = searched(below(5300, noise=0.001))
    with plans.RunWriter(record.folder) as writer:
        for repetition in range(1, 7):
            said = {"parameters": {"rate": 16000}, "repetition": repetition, "status": "ok", "seconds": 1.0}
            writer.journal.write("trial-ended", trial=900 + repetition, metrics={"latency": 0.001}, **said)
    found, limit = only(RunRecord(record.folder))
    assert limit.holds.text == "5190", "the way of the search decides"
    assert len(limit.oddities) == 1
    assert limit.oddities[0].startswith("not monotonic: it holds at 16000 but not at 8000")
    assert verdicts(limit)["16000"] == "met"
    assert found.limits[0].kind == "bracket"


def test_the_limit_comes_first_among_what_is_derived(searched):
    record = searched(below(5300))
    first, *_ = derive(record, summarise_run(record)).results
    assert isinstance(first, LimitStudy)
