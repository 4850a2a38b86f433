from __future__ import annotations

import pytest

from steelyard.analysis.comparison.compare_published import ShapeVerdict, compare_published
from steelyard.analysis.comparison.published import load_published, published_ids
from steelyard.analysis.findings import Findings


def beside(record, name):
    return compare_published(Findings(record), load_published(name))


def test_losses_are_set_beside_machine_by_machine(build, plans):
    found = beside(build(**plans.gensim()), "fermilab-2015/table-1")
    losses = [one for one in found.shapes if one.kind == "efficiency_loss"]
    assert [one.low for one in losses] == [loss for *_, loss in plans.MACHINES.values()]
    assert all(one.stands is ShapeVerdict.INSIDE for one in losses)
    assert "efficiency loss of m3.xlarge, 4 copies" in [one.what for one in losses]


def test_three_machines_of_theirs_have_an_order(build, plans):
    found = beside(build(**plans.gensim()), "fermilab-2015/table-1")
    (order,) = [one for one in found.shapes if one.kind == "order"]
    assert order.order.rho == 1
    assert order.stands is ShapeVerdict.OPEN  # of three machines any order may be chance
    assert order.what == "order of 3 machines by total on all cores"


def test_an_unknown_machine_is_held_against_their_whole_range(build, plans):
    plan = plans.gensim(parameters={"machine": [0], "copies": [1, "cores"]})
    hosts = [{**host, "type": ""} for host in plan["environment"]["hosts"]]
    found = beside(build(**{**plan, "environment": {"hosts": hosts}}), "fermilab-2015/table-1")
    (loss,) = found.shapes
    assert (loss.low, loss.high) == (0.427, 0.494)
    assert "0 of our machines match theirs by name" in found.apart[0]


def test_a_smaller_loss_is_below_theirs(build, plans):
    def figures(cell, repetition, rng):
        copies = 1 if cell.parameters["copies"] == 1 else 4
        return {"events_per_second": copies * rng.gauss(10, 0.1)}

    found = beside(build(**plans.gensim(figures=figures)), "fermilab-2015/table-2")
    assert found.shapes[0].stands is ShapeVerdict.BELOW


def test_knees_are_compared_as_ranges(build, plans):
    found = beside(build(**plans.streams()), "fermilab-2015/figure-4")
    assert [(one.low, one.high, one.ours.value, one.stands) for one in found.shapes] == [
        (3, 4, 4, ShapeVerdict.INSIDE)
    ] * 2
    assert beside(build(**plans.streams()), "fermilab-2015/figure-5").apart[0] == (
        "knee: the run has no parameter 'concurrency'"
    )


def test_a_knee_that_was_not_reached_is_above_and_said(build, plans):
    plan = plans.streams(parameters={"streams": [1, 2, 8]}, figures=lambda cell, repetition, rng: {
        "throughput": rng.gauss(1, 0.01) * cell.parameters["streams"]})  # fmt: skip
    (found,) = beside(build(**plan), "fermilab-2015/figure-4").shapes
    assert (found.what, found.stands) == ("knee of throughput over streams, not reached", ShapeVerdict.ABOVE)


def test_a_knee_that_is_undecided_stays_open(build, plans):
    plan = plans.streams(parameters={"streams": [1, 4, 8]}, figures=lambda cell, repetition, rng: {
        "throughput": rng.gauss(100, 9)})  # fmt: skip
    (found,) = beside(build(**plan), "fermilab-2015/figure-4").shapes
    assert found.stands is ShapeVerdict.OPEN
    assert found.ours.interval.high > found.ours.interval.low


def test_more_machines_more_throughput(build, plans):
    found = beside(build(**plans.growing()), "fermilab-2015/figure-3")
    assert [one.stands for one in found.shapes] == [ShapeVerdict.BELOW, ShapeVerdict.BELOW]
    assert found.shapes[0].what == "parallel efficiency at machines=4 (simultaneous=1)"


def test_headroom_is_the_best_over_what_is_required(build, plans):
    record = build(**plans.growing(require=["throughput >= 150 MB/s", "throughput <= 9 GB/s"]))
    (found,) = [one for one in beside(record, "fermilab-2015/figure-7").shapes if one.kind == "headroom"]
    assert found.ours.value == pytest.approx(1e8 * 4**0.9 / 150e6, rel=0.02)
    assert found.stands is ShapeVerdict.INSIDE


def test_failures_are_set_beside(build, plans):
    found = beside(build(**plans.streams()), "fermilab-2015/figure-6")
    (failures,) = [one for one in found.shapes if one.kind == "failure_rate"]
    assert failures.ours.value == pytest.approx(0.025)
    assert failures.stands is ShapeVerdict.INSIDE


def test_other_work_is_said(build, plans):
    record = build(**plans.gensim(design={"workload": [{"use": "hs"}]}))
    assert beside(record, "fermilab-2015/table-2").apart[0].startswith("scores")
    assert "theirs corresponds to 'ttbar', ours is hs" in beside(record, "fermilab-2015/table-1").apart[0]


@pytest.mark.parametrize("name", published_ids())
def test_any_run_can_be_set_beside_anything(build, name):
    found = beside(build(), name)
    assert found.shapes == ()
    assert found.apart
