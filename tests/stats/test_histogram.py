from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.histogram import LARGEST_COUNT, Histogram

histograms = st.dictionaries(st.floats(0, 1e9), st.integers(0, 10**6), max_size=20).map(Histogram.of)
filled = histograms.filter(lambda histogram: histogram.count > 0)

# fio-3.33 --rw=randread --bs=4k --ioengine=psync --number_ios=150 --output-format=json+, 2026-11-20: clat_ns
FIO_BINS = {
    "37120": 1, "37632": 8, "38144": 19, "38656": 37, "39168": 31, "39680": 21, "40192": 8, "40704": 10,
    "41728": 3, "42240": 2, "42752": 1, "43264": 3, "51968": 2, "72192": 1, "74240": 1, "79360": 1,
    "3915776": 1,
}  # fmt: skip
FIO_PERCENTILES = {1: 37632, 25: 38656, 50: 39168, 90: 40704, 99: 79360, 99.9: 3915776}


def test_percentiles_are_those_that_fio_prints() -> None:
    histogram = Histogram.of(FIO_BINS, divisor=1e9)
    assert histogram.count == 150
    for percentile, nanoseconds in FIO_PERCENTILES.items():
        assert histogram.quantile(percentile / 100) == nanoseconds / 1e9
    assert histogram.mean == pytest.approx(65929.733333e-9, rel=0.008)


def test_merged_percentiles_are_not_averaged_percentiles() -> None:
    """99 fast observations on one host and 99 slow ones among 100 on another: the median is slow or fast, not
    in between."""
    fast, slow = Histogram.of({1.0: 99}), Histogram.of({1.0: 1, 9.0: 101})
    assert Histogram.from_histograms([fast, slow]).quantile(0.5) == 9.0


def test_equal_keys_add_up_and_empty_bins_vanish() -> None:
    histogram = Histogram.of({"10": 1, "10.0": 2, "20": 0})
    assert histogram.bins == ((10.0, 3),)


def test_rounding_does_not_ask_for_one_more_observation() -> None:
    hundred = Histogram.of({float(value): 1 for value in range(1, 101)})
    assert [hundred.quantile(percent / 100) for percent in range(1, 101)] == list(range(1, 101))


@pytest.mark.parametrize("count", [-1, 1.5, True, "3", None, LARGEST_COUNT + 1, math.nan])
def test_bad_counts_are_named(count: object) -> None:
    with pytest.raises(ValueError, match="bin '5' has no valid count"):
        Histogram.of({"5": count})  # type: ignore[dict-item]


@pytest.mark.parametrize("key", ["", "five", "nan", "inf", "1e999", None, "x" * 10**5])
def test_bad_keys_are_named_briefly(key: str) -> None:
    with pytest.raises(ValueError, match=r"histogram bin .* (is not a number|is not finite)") as caught:
        Histogram.of({key: 1})
    assert len(str(caught.value)) < 100


@given(st.dictionaries(st.one_of(st.text(), st.floats(), st.none()), st.one_of(st.integers(), st.floats())))
def test_a_strangers_mapping_gives_a_histogram_or_one_error(mapping: dict[str, int]) -> None:
    try:
        histogram = Histogram.of(mapping)
    except ValueError:
        return
    assert histogram.count == sum(mapping.values())


def test_an_empty_one_has_a_count_but_no_figures() -> None:
    empty = Histogram.from_histograms([])
    assert empty.count == 0
    with pytest.raises(ValueError, match="empty"):
        empty.quantile(0.5)
    with pytest.raises(ValueError, match="empty"):
        _ = empty.mean


@pytest.mark.parametrize("q", [-0.1, 1.1, 99, math.nan])
def test_a_quantile_is_a_ratio(q: float) -> None:
    with pytest.raises(ValueError, match="not between 0 and 1"):
        Histogram.of({1.0: 1}).quantile(q)


@given(histograms, histograms, histograms)
def test_merging_is_a_sum(a: Histogram, b: Histogram, c: Histogram) -> None:
    together = Histogram.from_histograms([a, b, c])
    assert Histogram.from_histograms([Histogram.from_histograms([a, b]), c]) == together
    assert Histogram.from_histograms([c, b, a]) == together
    assert Histogram.from_histograms([together, Histogram()]) == together
    assert together.count == a.count + b.count + c.count


@given(filled, st.floats(0, 1), st.floats(0, 1))
def test_quantiles_are_bins_and_ascend(histogram: Histogram, q: float, other: float) -> None:
    values = [value for value, _ in histogram.bins]
    low, high = sorted((q, other))
    assert histogram.quantile(0) == values[0] <= histogram.quantile(low) <= histogram.quantile(high)
    assert histogram.quantile(high) <= values[-1] == histogram.quantile(1)
    assert histogram.quantile(q) in values
    assert values[0] * (1 - 1e-9) <= histogram.mean <= values[-1] * (1 + 1e-9)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=200), st.integers(0, 1000))
def test_quantile_is_numpys_nearest_rank(values: list[int], permille: int) -> None:
    counts = {float(value): values.count(value) for value in set(values)}
    expected = np.quantile(values, permille / 1000, method="inverted_cdf")
    assert Histogram.of(counts).quantile(permille / 1000) == expected


@given(histograms)
def test_json_keeps_everything(histogram: Histogram) -> None:
    assert Histogram.of(json.loads(json.dumps(histogram.to_json()))) == histogram
