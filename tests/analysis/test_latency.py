from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.latency import merge_histograms, percentile_curve
from steelyard.analysis.summary import summarise_run
from steelyard.stats.histogram import Histogram

BINS = st.dictionaries(
    st.floats(min_value=1e-6, max_value=10, allow_nan=False), st.integers(1, 10**7), min_size=1, max_size=40
)


def per_trial(cell, repetition, rng):
    return {"latency": {0.001: 10, 0.001 * repetition: repetition}}


def test_poolable_trials_are_merged(build):
    plan = {"parameters": {"a": [1]}, "repetitions": 4, "histograms": per_trial}
    record = build(**plan, marks={("a=1", 4): ("disturbed", "x")}, failures={("a=1", 3): ("crashed", "")})
    whole = merge_histograms(record, summarise_run(record).cells[0])
    assert whole.histograms["latency"].bins == ((0.001, 11), (0.002, 2))
    assert whole.damaged == ()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"histograms": 3}',
        '{"histograms": {"latency": [1]}}',
        '{"histograms": {"latency": {"x": 1}}}',
        '{"histograms": {"latency": {"NaN": 4}}}',
        '{"histograms": {"latency": {"inf": 4}}}',
        '{"histograms": {"latency": {"0.1": -4}}}',
        '{"histograms": {"latency": {"1": 1e99}}}',
    ],
)
def test_damaged_files_are_named_and_left_out(build, content):
    record = build(parameters={"a": [1]}, repetitions=2, histograms=per_trial)
    (record.folder.trial(1) / "metrics.json").write_text(content)
    whole = merge_histograms(record, summarise_run(record).cells[0])
    assert whole.damaged == (1,)
    assert whole.histograms["latency"].bins == ((0.001, 10), (0.002, 2))


def test_empty_histograms_are_none(build):
    record = build(parameters={"a": [1]}, repetitions=1, histograms=lambda *_: {"latency": {}})
    assert merge_histograms(record, summarise_run(record).cells[0]).histograms == {}


@given(bins=BINS)
def test_the_curve_is_that_of_the_quantiles(bins):
    histogram = Histogram.of(bins)
    curve = percentile_curve(histogram)
    assert all(point.value == histogram.quantile(point.share) for point in curve)
    assert curve[0] == (0, histogram.bins[0][0])
    assert [point.value for point in curve] == sorted(point.value for point in curve)
    assert len(curve) < 90


def test_the_curve_ends_where_one_observation_stands():
    assert percentile_curve(Histogram.of({0.1: 99, 5.0: 1}))[-1].share == pytest.approx(0.99)
    assert percentile_curve(Histogram.of({0.1: 10**9}))[-1].share == pytest.approx(1 - 1e-6)
    with pytest.raises(ValueError, match="empty"):
        percentile_curve(Histogram())


def test_the_fixture_writes_what_a_run_writes(build):
    record = build(parameters={"a": [1]}, repetitions=1, histograms=per_trial)
    content = json.loads((record.folder.trial(1) / "metrics.json").read_text())
    assert content["histograms"] == {"latency": {"0.001": 1}}
