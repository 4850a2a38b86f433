from __future__ import annotations

import pytest

from steelyard.analysis.early import has_stopped_early
from steelyard.analysis.summary import summarise_run
from steelyard.model.metric import Metric

CALM = [100.0, 101, 99, 100, 102, 98, 100, 100]
REPEAT = {"at_least": 6, "at_most": 12, "until": {"metric": "rate", "within": 0.05, "confidence": 0.95}}
RATE = Metric("rate", "1/s", "higher")


def test_a_precise_cell_with_fewer_trials_than_it_might_have_stopped_early() -> None:
    assert has_stopped_early(REPEAT, 8, CALM)
    assert has_stopped_early({**REPEAT, "until": {"metric": "rate", "within": "5%"}}, 8, CALM)


@pytest.mark.parametrize(
    ("repeat", "trials", "values"),
    [
        (REPEAT, 12, CALM),  # it made them all
        (REPEAT, 5, CALM),  # it was cut short
        (REPEAT, 8, [50.0, 150, 100, 100, 50, 150, 100, 100]),  # not precise: cut short, too
        (REPEAT, 8, []),
        ({**REPEAT, "until": None}, 8, CALM),
        ({}, 8, CALM),
    ],
)
def test_other_cells_did_not(repeat: dict[str, object], trials: int, values: list[float]) -> None:
    assert not has_stopped_early(repeat, trials, values)


def test_a_summary_tells_which_cells_did(build):
    def figures(cell, repetition, rng):
        return {"rate": 100.0 + repetition * (50 if cell.parameters["a"] == 2 else 0.1)}

    design = {"repeat": {**REPEAT, "budget": None}}
    record = build(parameters={"a": [1, 2]}, metrics=[RATE], figures=figures, repetitions=8, design=design)
    assert [cell.stopped_early for cell in summarise_run(record).cells] == [True, False]
