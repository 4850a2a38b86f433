from __future__ import annotations

from steelyard.analysis.drift import drift
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
    assert "drift downwards" in drift(summarise_run(build(**plan, figures=slowing)), RATE).warning
    assert drift(summarise_run(build(**plan, figures=steady)), RATE).warning == ""


def test_many_values_are_thinned_before_they_are_tested(build):
    record = build(parameters={"a": list(range(1, 101))}, metrics=[RATE], figures=steady, repetitions=10)
    found = drift(summarise_run(record), RATE)
    assert found.n <= 400
    assert found.warning == ""


def test_single_trials_say_nothing(build):
    record = build(parameters={"a": [1, 2, 3]}, metrics=[RATE], figures=steady, repetitions=1)
    assert drift(summarise_run(record), RATE) is None


def test_medians_at_zero_stay_out(build):
    record = build(metrics=[RATE], figures=lambda *_: {"rate": 0.0})
    assert drift(summarise_run(record), RATE) is None
