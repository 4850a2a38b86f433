from __future__ import annotations

import pytest

from steelyard.analysis.comparison.compare_levels import compare_levels, compare_within
from steelyard.analysis.comparison.gate import ObjectionKind
from steelyard.analysis.summary import summarise_run
from steelyard.errors import UnknownName, UsageError
from steelyard.model.metric import Metric
from steelyard.stats.verdict import Verdict

TIME = Metric("time", "s", "lower")
RATE = Metric("rate", "1/s", "higher")
BUILDS = {"build": ["old", "new"], "size": [1, 2]}


def slower(share, noise=0.01):
    """The new build takes so much more time, under blocks that differ by far more than that."""

    def figures(cell, repetition, rng):
        block = 1 + (repetition * 7 % 5) / 2
        factor = 1 + share if cell.parameters.get("build") == "new" else 1
        value = block * factor * cell.parameters.get("size", 1) * rng.lognormvariate(0, noise)
        return {"time": value, "rate": 1 / value}

    return figures


def levels(record, **more):
    return compare_levels(record, summarise_run(record), **{"parameter": "build", **more})


def verdicts(found):
    return {one.cell.key: one.verdict for one in found.compared}


def test_blocks_that_differ_hide_nothing_from_pairs(build):
    plan = {"parameters": BUILDS, "metrics": [TIME], "figures": slower(0.1)}
    found = levels(build(**plan))
    assert verdicts(found) == {"build=new size=1": Verdict.WORSE, "build=new size=2": Verdict.WORSE}
    assert all(one.judged.comparison.paired for one in found.compared)
    assert (found.a, found.b, found.has_several_runs) == (("build=old",), ("build=new",), False)
    one_by_one = levels(build(**plan, in_blocks=False))
    assert set(verdicts(one_by_one).values()) == {Verdict.NO_DIFFERENCE}
    assert not any(one.judged.comparison.paired for one in one_by_one.compared)


def test_the_baseline_may_be_any_level_and_all_others_are_set_against_it(build):
    record = build(
        parameters={"build": ["a", "b", "new"]}, metrics=[TIME], figures=slower(0.2), repetitions=8
    )
    found = levels(record, baseline="new")
    assert verdicts(found) == {"build=a": Verdict.BETTER, "build=b": Verdict.BETTER}
    assert found.b == ("build=a", "build=b")


def test_a_trial_that_was_made_again_takes_the_place_of_the_disturbed_one(build):
    """As the design does it: the first of each is disturbed, and a seventh is made."""
    marks = {(f"build={name}", 1): ("disturbed", "steal") for name in ("old", "new")}
    plan = {"parameters": {"build": ["old", "new"]}, "metrics": [TIME], "figures": slower(0.1)}
    found = levels(build(**plan, repetitions=7, marks=marks))
    (one,) = found.compared
    assert (one.judged.comparison.paired, one.judged.comparison.n_a) == (True, 6)


def test_trials_that_failed_are_judged_without_pairs(build):
    crash = {("build=new", n): ("crashed", "exit code 3") for n in range(1, 8)}
    plan = {"parameters": {"build": ["old", "new"]}, "metrics": [TIME], "figures": slower(0)}
    found = levels(build(**plan, repetitions=12, failures=crash))
    (one,) = found.compared
    assert (one.judged.comparison.paired, one.verdict) == (False, Verdict.WORSE)
    assert [cell.cell.key for cell in found.failing] == ["build=new"]


def test_parameters_that_go_in_step_are_compared_together_and_told(build):
    record = build(
        parameters={"build": ["old", "new"], "binary": ["x", "y"]},
        metrics=[TIME],
        figures=slower(0.1),
        design={"cells": [{"build": "old", "binary": "x"}, {"build": "new", "binary": "y"}]},
        measured=lambda cell: cell.key in ("build=old binary=x", "build=new binary=y"),
    )
    found = levels(record)
    assert verdicts(found) == {"build=new binary=y": Verdict.WORSE}
    assert [str(one) for one in found.differences] == ["binary, in step with build: x -> y"]


def test_without_a_choice_the_metrics_are_those_the_experiment_names_else_the_first(build):
    plan = {"parameters": BUILDS, "metrics": [TIME, RATE], "figures": slower(0.1)}
    found = levels(build(**plan))
    assert ({one.metric.name for one in found.compared}, found.left_out) == ({"time"}, ("rate",))
    found = levels(build(**plan, require=["rate.median >= 1"]))
    assert {one.metric.name for one in found.compared} == {"rate"}
    found = levels(build(**plan), metrics=["rate", "time"])
    assert [one.metric.name for one in found.compared] == ["rate", "rate", "time", "time"]


def test_unknown_names_say_what_there_is(build):
    record = build(parameters={"build": ["old", "new"], "one": [7]}, metrics=[TIME], figures=slower(0))
    with pytest.raises(UnknownName, match="unknown parameter 'bild'; did you mean 'build'"):
        levels(record, parameter="bild")
    with pytest.raises(UnknownName, match="unknown level of 'build' 'odl'; did you mean 'old'"):
        levels(record, baseline="odl")
    with pytest.raises(UnknownName, match="unknown metric"):
        levels(record, metrics=["tme"])
    with pytest.raises(UsageError, match="'one' has only one level in this run, 7"):
        levels(record, parameter="one")


def asked(**more):
    plain = {
        "parameter": "build",
        "baseline": "old",
        "metrics": [],
        "fail_on": None,
        "margin": None,
        "allow": [],
    }
    return {"compare": {**plain, **more}}


def test_the_file_asks_for_a_comparison_and_its_gate(build):
    plan = {"parameters": BUILDS, "metrics": [TIME], "repetitions": 12}

    def own(share, **more):
        record = build(**plan, figures=slower(share), design=asked(**more))
        return compare_within(record, summarise_run(record))

    assert own(0.2).is_passing, "without fail_on nothing fails"
    worse = own(0.2, fail_on="worse")
    assert not worse.is_passing
    assert {one.kind for one in worse.objections} == {ObjectionKind.WORSE}
    assert own(0.02, fail_on="worse", margin="5%").is_passing
    assert not own(0.05, fail_on="worse", margin="5%").is_passing
    plain = build(**plan, figures=slower(0))
    assert compare_within(plain, summarise_run(plain)) is None


def test_a_cell_without_its_like_is_told_and_does_not_pass(build):
    record = build(
        parameters=BUILDS,
        metrics=[TIME],
        figures=slower(0, 0.001),
        design={
            **asked(fail_on="worse", margin="5%"),
            "cells": [{"build": "old", "size": 1}, {"build": "new", "size": 1}, {"build": "new", "size": 2}],
        },
        measured=lambda cell: cell.key != "build=old size=2",
    )
    found = compare_within(record, summarise_run(record))
    assert [str(one.reason) for one in found.objections] == ["no matching cell with build=old"]
