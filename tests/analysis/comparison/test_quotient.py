"""Shares and ratios of metrics, and how they stand beside those of published results."""

from __future__ import annotations

import pytest

from steelyard.analysis.comparison.compare_published import ShapeVerdict, compare_published
from steelyard.analysis.comparison.published import load_published
from steelyard.analysis.comparison.quotient import quotient
from steelyard.analysis.findings import Findings
from steelyard.analysis.summary import summarise_run
from steelyard.model.metric import Metric


def seconds(*names):
    return [Metric(name, "s", "lower") for name in names]


def launches(share):
    """A ring of 2 and of 4 nodes; `share` of its launch time, a different one each time, is configuring."""

    def figures(cell, repetition, rng):
        launch = float(repetition)
        return {"ring_launch_time": launch, "ring_configure_time": share * launch}

    return {
        "parameters": {"nodes": [2, 4]},
        "metrics": seconds("ring_launch_time", "ring_configure_time"),
        "figures": figures,
    }


def beside(record, name):
    return compare_published(Findings(record), load_published(name))


def test_every_trial_is_divided_by_itself(build):
    (cell, _) = summarise_run(build(**launches(0.01))).cells
    found = quotient(cell, ["ring_configure_time"], ["ring_launch_time"])
    assert found.value == pytest.approx(0.01)
    assert found.interval.low == pytest.approx(found.interval.high)  # though the times differ sixfold


def test_sums_stand_on_both_sides(build):
    (cell, _) = summarise_run(build(**launches(0.25))).cells
    whole = ["ring_launch_time", "ring_configure_time"]
    assert quotient(cell, ["ring_launch_time"], whole).value == pytest.approx(0.8)
    assert quotient(cell, whole, ["ring_launch_time"]).value == pytest.approx(1.25)


def test_a_parameter_can_be_what_is_divided_by(build):
    cells = summarise_run(build(**launches(1))).cells
    assert [quotient(cell, ["ring_launch_time"], ["${nodes}"]).value for cell in cells] == [3.5 / 2, 3.5 / 4]


@pytest.mark.parametrize("name", ["no_such_metric", "${no_such_parameter}"])
def test_without_a_figure_there_is_none(build, name):
    (cell, _) = summarise_run(build(**launches(1))).cells
    assert quotient(cell, ["ring_launch_time"], [name]) is None
    assert quotient(cell, [name], ["ring_launch_time"]) is None


def test_no_interval_says_why(build):
    (cell, _) = summarise_run(build(**{**launches(1), "repetitions": 2})).cells
    found = quotient(cell, ["ring_configure_time"], ["ring_launch_time"])
    assert found.interval is None
    assert "n=2" in found.reason


@pytest.mark.parametrize(("share", "stands"), [(0.01, ShapeVerdict.INSIDE), (0.02, ShapeVerdict.ABOVE)])
def test_a_share_is_set_beside_theirs_in_each_cell(build, share, stands):
    found = beside(build(**launches(share)), "c4s-2018/figure-6.2")
    assert [one.what for one in found.shapes] == [
        "ring_configure_time / ring_launch_time at nodes=2",
        "ring_configure_time / ring_launch_time at nodes=4",
    ]
    assert [one.stands for one in found.shapes] == [stands] * 2
    assert [(one.low, one.high) for one in found.shapes] == [(0, 0.0125)] * 2


def test_the_shares_of_a_snapshot_are_held_against_those_of_as_many_nodes(build):
    steps = {"flush": 0.05, "freeze": 0.05, "describe": 0.1, "copy": 0.8}

    def figures(cell, repetition, rng):
        time = 8 / cell.parameters["nodes"] ** 0.5
        return {"snapshot_time": time} | {
            f"snapshot_{step}_time": time * part for step, part in steps.items()
        }

    names = [f"snapshot_{name}" for name in ("time", *(f"{step}_time" for step in steps))]
    plan = {"parameters": {"nodes": [2, 4, 5]}, "metrics": seconds(*names), "figures": figures}
    found = beside(build(**plan), "c4s-2018/table-6.1")
    (efficiency,) = [one for one in found.shapes if one.kind == "efficiency"]
    assert efficiency.ours.value == pytest.approx((2 / 5) ** 0.5)
    copies = [one for one in found.shapes if one.what.startswith("snapshot_copy_time / snapshot_time")]
    assert [(one.low, one.high) for one in copies] == [(0.7564, 0.915), (0.4359, 0.8355), (0.3104, 0.915)]
    (written, *_) = [one for one in found.shapes if "_freeze_time" in one.what]
    assert written.what == "(snapshot_flush_time + snapshot_freeze_time) / snapshot_time at nodes=2"
    assert written.ours.value == pytest.approx(0.1)


def test_a_ratio_of_sums_is_one_figure(build):
    plan = {
        "parameters": {"rows": [1000]},
        "metrics": seconds("copy_copy_time", "snapshot_time", "recover_time"),
        "figures": lambda *_: {"copy_copy_time": 60.0, "snapshot_time": 1.0, "recover_time": 3.0},
    }
    (found,) = beside(build(**plan), "c4s-2018/text-6.3").shapes
    assert found.what == "copy_copy_time / (snapshot_time + recover_time) at rows=1000"
    assert (found.ours.value, found.low, found.stands) == (15, 30.69, ShapeVerdict.BELOW)


def test_the_rate_reached_is_a_share_of_the_one_told(build):
    plan = {
        "parameters": {"ingest_rate": [20000]},
        "metrics": [Metric("ingest_rate", "1/s", "higher")],
        "figures": lambda *_: {"ingest_rate": 19874.0},
    }
    (found,) = beside(build(**plan), "c4s-2018/listing-6.1").shapes
    assert (found.ours.value, found.stands) == (pytest.approx(0.9937), ShapeVerdict.INSIDE)


def test_what_the_run_has_not_is_said(build):
    found = beside(build(), "c4s-2018/figure-6.2")
    assert (
        "share: no trial of the run has all figures of ring_configure_time / ring_launch_time" in found.apart
    )
