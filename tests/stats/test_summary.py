from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.interval import Interval
from steelyard.stats.outliers import POLICIES, Policy
from steelyard.stats.summary import summarise

numbers = st.lists(st.integers(-1000, 1000).map(float), min_size=1, max_size=30)


def test_figures_of_a_plain_sample() -> None:
    summary = summarise([4, 1, 3, 2, 6, 5])
    assert (summary.n, summary.n_total, summary.dropped) == (6, 6, 0)
    assert (summary.median, summary.mean, summary.minimum, summary.maximum) == (3.5, 3.5, 1, 6)
    assert summary.sd == pytest.approx(1.8708286933869707)
    assert summary.interval == Interval(1, 6, 0.96875, "order statistics")
    assert summary.interval_reason == ""


def test_too_few_say_so_instead_of_a_number() -> None:
    summary = summarise([3, 1, 2])
    assert summary.interval is None
    assert summary.interval_reason == "no 95 % interval, n=3"
    assert summarise([1] * 7, confidence=0.99).interval_reason == "no 99 % interval, n=7"


def test_a_single_value_has_no_sd() -> None:
    summary = summarise([2.5])
    assert (summary.sd, summary.median, summary.interval) == (None, 2.5, None)


def test_what_was_dropped_is_counted_and_the_interval_says_so() -> None:
    summary = summarise([10, 10.1, 9.9, 10.2, 9.8, 10, 99], outliers="mad")
    assert (summary.n, summary.n_total, summary.dropped, summary.maximum) == (6, 7, 1, 10.2)
    assert summary.interval is not None
    assert summary.interval.method == "order statistics after mad"
    assert (
        summarise([10, 10.1, 9.9, 10.2, 99], outliers="mad").interval_reason == "no 95 % interval, n=4 of 5"
    )


def test_extremes_needs_nine_and_then_claims_what_nine_can() -> None:
    eight = summarise(range(8), outliers="extremes")
    assert eight.interval_reason == "no 95 % interval, n=6 of 8 (excluding highest and lowest, it needs 9)"
    assert summarise(range(9), outliers="extremes").interval == summarise(range(9)).interval


@given(numbers, st.sampled_from(POLICIES))
def test_figures_are_numpys_and_in_order(values: list[float], policy: Policy) -> None:
    summary = summarise(values, outliers=policy)
    assert summary.n + summary.dropped == summary.n_total == len(values)
    assert summary.minimum <= summary.median <= summary.maximum
    assert (summary.interval is None) == bool(summary.interval_reason)
    assert summary.interval is None or summary.median in summary.interval
    if policy == "none":
        assert summary.mean == pytest.approx(np.mean(values), abs=1e-9)
        assert summary.sd is None or summary.sd == pytest.approx(np.std(values, ddof=1), abs=1e-9)


def test_summaries_do_not_load_numpy() -> None:
    """A run summarises between two trials; loading numpy there would cost more than all summaries."""
    names = "summary interval outliers stopping histogram over_time.autocorrelation correction"
    program = (
        "import sys\n"
        + "\n".join(f"import steelyard.stats.{name}" for name in names.split())
        + "\nprint(sorted({'numpy', 'scipy', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
