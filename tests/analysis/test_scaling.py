from __future__ import annotations

import pytest

from steelyard.analysis.scaling import is_scalable, scaling
from steelyard.analysis.setters import basis, copies_setter, has_copy_per_core, hosts_setter
from steelyard.analysis.summary import summarise_run
from steelyard.errors import UnknownName, UsageError
from steelyard.model.metric import Metric

TIME = Metric("wall", "s", "lower", over_copies="max")


def scaled(record, **options):
    return scaling(record, summarise_run(record), **options)


def test_the_planted_loss_is_found_on_every_machine(build, plans):
    record = build(**plans.gensim())
    found = scaled(record, over="copies", by="copies", question="loss")
    assert found.per == "core"
    assert [curve.label for curve in found.curves] == ["machine=0", "machine=1", "machine=2"]
    for curve, (cores, alone, loss) in zip(found.curves, plans.MACHINES.values(), strict=True):
        single, full = curve.points
        assert (single.copies, full.copies) == (1, cores)
        assert single.loss is None
        assert single.each.median == pytest.approx(alone, rel=0.02)
        assert full.total.median == pytest.approx(cores * alone * (1 - loss), rel=0.02)
        assert full.each.median == pytest.approx(full.total.median / cores)
        assert loss in full.loss.interval
        assert full.loss.interval.high - full.loss.interval.low < 0.05
        assert full.loss.value == pytest.approx(1 - full.each.median / single.each.median)


def test_which_parameter_sets_what(build, plans):
    gensim, growing = (summarise_run(build(**plan)) for plan in (plans.gensim(), plans.growing()))
    assert (copies_setter(gensim), hosts_setter(gensim)) == ("copies", None)
    assert (copies_setter(growing), hosts_setter(growing)) == ("simultaneous", "machines")
    assert [basis(growing, name) for name in ("machines", "simultaneous")] == ["hosts", "copies"]
    assert basis(summarise_run(build(**plans.streams())), "streams") == "level"


def test_speed_up_and_parallel_efficiency_over_hosts(build, plans):
    record = build(**plans.growing())
    found = scaled(record, over="machines", by="hosts", question="speedup")
    assert found.per == "host"
    for curve in found.curves:
        assert [point.hosts for point in curve.points] == [1, 2, 4]
        assert 4**0.9 in curve.points[2].speedup.interval
        assert 4**-0.1 in curve.points[2].efficiency.interval
        assert curve.points[2].efficiency.value == pytest.approx(curve.points[2].speedup.value / 4)


def test_below_six_trials_there_is_no_interval_but_a_reason(build, plans):
    found = scaled(build(**plans.gensim(repetitions=5)), over="copies", by="copies", question="loss")
    loss = found.curves[0].points[1].loss
    assert loss.interval is None
    assert loss.reason == "no interval, n=5 against n=5; at least 6 each are needed"


def test_of_a_time_the_speed_up_is_the_inverse(build):
    record = build(
        parameters={"processes": [2, 4, 8]},
        metrics=[TIME],
        figures=lambda cell, repetition, rng: {
            "wall": rng.gauss(1, 0.005) * 80 / cell.parameters["processes"]
        },
    )
    (curve,) = scaled(record, over="processes", by="level", question="speedup").curves
    assert curve.points[2].speedup.value == pytest.approx(4, rel=0.02)
    assert 1.0 in curve.points[2].efficiency.interval
    assert curve.points[2].total.median == pytest.approx(10, rel=0.02)


def test_an_average_over_copies_is_multiplied_for_the_total(build):
    mean = Metric("rate", "1/s", "higher", over_copies="mean")
    record = build(
        parameters={"copies": [1, 4]},
        metrics=[mean],
        figures=lambda cell, repetition, rng: {"rate": 10.0 / (1 if cell.parameters["copies"] == 1 else 2)},
        copies=lambda cell: cell.parameters["copies"],
    )
    (curve,) = scaled(record, over="copies", by="copies", question="loss").curves
    assert [(point.each.median, point.total.median) for point in curve.points] == [(10, 10), (5, 20)]
    assert curve.points[1].loss.value == pytest.approx(0.5)


def test_more_copies_than_cores_are_no_cores(build, plans):
    record = build(**plans.streams())
    assert not has_copy_per_core(record, summarise_run(record))
    crowded = build(**plans.gensim(copies=lambda cell: 1 if cell.parameters["copies"] == 1 else 64))
    assert scaled(crowded, over="copies", by="copies", question="loss").per == "copy"


def test_cells_that_were_not_measured_are_left_out(build, plans):
    record = build(**plans.gensim(measured=lambda cell: cell.key != "machine=1 copies=cores"))
    found = scaled(record, over="copies", by="copies", question="loss")
    assert [curve.label for curve in found.curves] == ["machine=0", "machine=2"]


@pytest.mark.parametrize(
    ("metric", "by", "fits"),
    [
        (Metric("rate", "1/s", "higher"), "copies", True),
        (Metric("score", "1", "higher"), "copies", True),
        (Metric("rate", "1/s", "higher", over_copies="max"), "copies", False),
        (Metric("p99", "s", "lower", histogram="h", quantile=0.99), "hosts", False),
        (Metric("wall", "s", "lower"), "hosts", True),
        (Metric("wall", "s", "lower"), "copies", False),
        (Metric("used", "%", "higher"), "copies", False),
        (Metric("phase", "1", "none"), "copies", False),
    ],
)
def test_what_can_be_shared_out(metric, by, fits):
    assert is_scalable(metric, by) is fits


def test_a_parameter_of_one_level_tells_no_curves_apart(build, plans):
    record = build(**plans.gensim(parameters={"machine": [1], "copies": [1, "cores"]}))
    (curve,) = scaled(record, over="copies", by="copies", question="loss").curves
    assert curve.label == ""


def test_mistakes_are_said(build, plans):
    record = build(**plans.gensim())
    with pytest.raises(UnknownName, match="unknown parameter 'copis'"):
        scaled(record, over="copis", by="copies", question="loss")
    with pytest.raises(UsageError, match="no two measured cells differ in 'machine' alone and also"):
        scaled(build(**plans.gensim(measured=lambda cell: cell.parameters["copies"] == 1)),
               over="machine", by="copies", question="loss")  # fmt: skip
    with pytest.raises(UsageError, match="no metric of the run can be used for scaling"):
        scaled(build(metrics=[], figures=lambda *_: {}), over="outstanding", by="level", question="speedup")
