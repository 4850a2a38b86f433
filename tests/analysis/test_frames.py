from __future__ import annotations

from steelyard.analysis.frames import cell_rows, trial_rows
from steelyard.analysis.summary import summarise_run
from steelyard.model.metric import Metric

RATE = Metric("rate", "1/s", "higher")


def growing(cell, repetition, rng):
    return {"rate": float(repetition)}


def test_every_trial_with_a_figure_has_a_row_and_its_state(build):
    record = build(
        parameters={"a": [1]},
        metrics=[RATE],
        figures=lambda cell, repetition, rng: {"rate": 500.0 if repetition == 9 else 10.0 + repetition % 2},
        repetitions=10,
        outliers="tukey",
        failures={("a=1", 1): ("crashed", "")},
        marks={("a=1", 2): ("disturbed", "stress-ng"), ("a=1", 3): ("fallback", "buffered")},
    )
    rows = trial_rows(summarise_run(record), "rate")
    states = {row["repetition"]: row["state"] for row in rows}
    assert states == {2: "disturbed", 3: "fallback", 9: "set aside"} | dict.fromkeys(
        (4, 5, 6, 7, 8, 10), "counted"
    )
    assert {row["why"] for row in rows} == {"", "stress-ng", "buffered"}


def test_cells_have_medians_and_intervals_or_a_note(build):
    plan = {"parameters": {"a": [1], "b": ["x"]}, "metrics": [RATE], "figures": growing}
    (row,) = cell_rows(summarise_run(build(**plan)), "rate")
    assert (row["cell"], row["levels"], row["n"]) == ("a=1 b=x", {"a": "1", "b": "x"}, 6)
    assert (row["median"], row["low"], row["high"], row["note"]) == (3.5, 1, 6, "")
    (row,) = cell_rows(summarise_run(build(**plan, repetitions=2)), "rate")
    assert (row["low"], row["high"], row["note"]) == (None, None, "no 95 % interval, n=2")


def test_marked_trials_are_shown_where_nothing_could_be_pooled(build):
    record = build(
        parameters={"a": [1]},
        metrics=[RATE],
        figures=growing,
        repetitions=1,
        marks={("a=1", 1): ("disturbed", "x")},
    )
    summary = summarise_run(record)
    assert [row["state"] for row in trial_rows(summary, "rate")] == ["disturbed"]
    (row,) = cell_rows(summary, "rate")
    assert (row["median"], row["under"][:6]) == (1.0, "under ")


def test_absurd_figures_are_not_drawn(build):
    record = build(parameters={"a": [1]}, metrics=[RATE], figures=lambda *_: {"rate": 1e300})
    assert trial_rows(summarise_run(record), "rate") == []
