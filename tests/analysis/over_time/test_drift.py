from __future__ import annotations

from steelyard.analysis.over_time.drift import detect_drifts, relative_values
from steelyard.analysis.summary import summarise_run
from steelyard.model.metric import Metric

RATE = Metric("rate", "1/s", "higher")


def steady(cell, repetition, rng):
    return {"rate": cell.parameters["a"] * rng.gauss(100, 1)}


def test_cells_of_different_size_show_a_common_drift(build):
    moment = iter(range(10_000))

    def slowing(cell, repetition, rng):
        return {"rate": cell.parameters["a"] * (100 - next(moment) / 10) * rng.gauss(1, 0.01)}

    plan = {"parameters": {"a": [1, 50, 900]}, "metrics": [RATE], "repetitions": 12}
    (whole, *_) = detect_drifts(summarise_run(build(**plan, figures=slowing)), [RATE])
    assert whole.cell is None
    assert str(whole) == "the figures fell by 2.8 % during the run, which makes intervals too narrow"
    assert detect_drifts(summarise_run(build(**plan, figures=steady)), [RATE]) == ()


def test_many_values_are_thinned_before_they_are_tested(build):
    record = build(parameters={"a": list(range(1, 101))}, metrics=[RATE], figures=steady, repetitions=10)
    summary = summarise_run(record)
    assert len(relative_values(summary, RATE)) <= 400
    assert detect_drifts(summary, [RATE]) == ()


def test_single_trials_say_nothing(build):
    record = build(parameters={"a": [1, 2, 3]}, metrics=[RATE], figures=steady, repetitions=1)
    assert relative_values(summarise_run(record), RATE) == []
    assert detect_drifts(summarise_run(record), [RATE]) == ()


def test_medians_at_zero_stay_out(build):
    record = build(metrics=[RATE], figures=lambda *_: {"rate": 0.0})
    assert relative_values(summarise_run(record), RATE) == []
    assert detect_drifts(summarise_run(record), [RATE]) == ()


def test_a_cell_alone_is_named(build):
    record = build(
        parameters={"a": [1]}, metrics=[RATE], figures=lambda _, n, rng: {"rate": 100 + n}, repetitions=9
    )
    (one,) = detect_drifts(summarise_run(record), [RATE])
    assert (one.cell.key, str(one)) == (
        "a=1",
        "the figures rose by 7.6 % during the run, which makes intervals too narrow",
    )
