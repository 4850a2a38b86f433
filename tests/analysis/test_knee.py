from __future__ import annotations

import pytest

from steelyard.analysis.knee import knee_study
from steelyard.analysis.summary import summarise_run
from steelyard.errors import UsageError
from steelyard.model.metric import Metric


def studied(record, **options):
    return knee_study(summarise_run(record), **options)


def test_the_planted_knee_is_named_with_its_evidence(build, plans):
    study = studied(build(**plans.streams()), parameter="streams", metric="throughput")
    assert [curve.label for curve in study.curves] == ["protocol=xrootd", "protocol=gridftp"]
    for curve in study.curves:
        assert curve.knee.kind == "found"
        assert curve.levels[curve.knee.last].text == "4"
    text = study.sentence(study.curves[0])
    assert text.startswith(
        "throughput (protocol=xrootd): no gain beyond streams=4; no later level is more than 5 %"
    )
    assert "streams=2 is beaten by at least +" in text


def test_without_other_parameters_the_sentence_is_short(build, plans):
    plan = plans.streams(parameters={"streams": [1, 2, 4, 8]})
    study = studied(build(**plan), parameter="streams")
    assert study.metric.name == "throughput"
    assert study.sentence(study.curves[0]).startswith("throughput: no gain beyond streams=4;")


def test_levels_are_taken_in_ascending_order_whatever_the_file_says(build, plans):
    study = studied(build(**plans.streams(parameters={"streams": [16, 4, 1, 8, 2]})), parameter="streams")
    assert [level.place for level in study.curves[0].levels] == [1, 2, 4, 8, 16]
    assert study.curves[0].knee.last == 2


def test_sizes_are_numbers(build):
    rates = {"4KiB": 1e8, "1MiB": 1.02e8, "64KiB": 1e8}
    study = studied(
        build(
            parameters={"block": list(rates)},
            metrics=[Metric("rate", "B/s", "higher")],
            figures=lambda cell, repetition, rng: {"rate": rng.gauss(rates[cell.parameters["block"]], 1e5)},
        ),
        parameter="block",
    )
    assert [level.text for level in study.curves[0].levels] == ["4KiB", "64KiB", "1MiB"]
    assert study.sentence(study.curves[0]).startswith("rate: no gain beyond block=4KiB; no later level")


def test_gains_that_go_on_and_ranges_are_said(build, plans):
    rising = studied(build(**plans.streams(parameters={"streams": [1, 2, 4]})), parameter="streams")
    assert "gains continue up to streams=4, the last level tried" in rising.sentence(rising.curves[0])
    noisy = build(
        parameters={"streams": [1, 2, 4]},
        metrics=[plans.THROUGHPUT],
        figures=lambda cell, repetition, rng: {"throughput": rng.gauss(97 + cell.parameters["streams"], 8)},
    )
    unsure = studied(noisy, parameter="streams")
    assert "undecided: the knee is from streams=1 to streams=4, or beyond;" in unsure.sentence(
        unsure.curves[0]
    )


def test_too_few_trials_are_said(build, plans):
    plan = plans.streams(parameters={"streams": [1, 2, 4]}, failures={("streams=2", 1): ("crashed", "boom")})
    study = studied(build(**plan), parameter="streams")
    assert study.curves[0].knee is None
    assert study.sentence(study.curves[0]) == (
        "throughput: no knee of streams can be determined: streams=2 has n=5, but at least 6 are needed"
    )


def test_levels_that_cannot_be_reached_are_left_out_and_named(build, plans):
    """As the search for a knee does: a disk that takes no more requests at once has no figure beyond."""
    failures = {("streams=8", n): ("timed-out", "too long") for n in range(1, 4)}
    marks = {("streams=16", n): ("fallback", "no more at once") for n in range(1, 7)}
    plan = plans.streams(parameters={"streams": [1, 2, 4, 8, 16]}, failures=failures, marks=marks)
    study = studied(build(**plan), parameter="streams")
    (curve,) = study.curves
    assert [level.text for level in curve.levels] == ["1", "2", "4"]
    text = study.sentence(curve)
    assert "gains continue up to streams=4, the last level with figures;" in text
    assert text.endswith("; left out: streams=8 (3 timed-out), streams=16 (6 fallback)")


def test_a_study_of_one_reachable_level_says_so(build, plans):
    marks = {(f"streams={level}", n): ("fallback", "less") for level in (2, 4) for n in range(1, 7)}
    study = studied(
        build(**plans.streams(parameters={"streams": [1, 2, 4]}, marks=marks)), parameter="streams"
    )
    assert study.sentence(study.curves[0]) == (
        "throughput: no knee of streams can be determined: fewer than two levels have figures"
        "; left out: streams=2 (6 fallback), streams=4 (6 fallback)"
    )


def test_what_has_no_direction_has_no_knee(build, plans):
    record = build(**plans.streams(metrics=[Metric("throughput", "B/s", "none")]))
    with pytest.raises(UsageError, match="'any metric' has no better direction"):
        studied(record, parameter="streams")
