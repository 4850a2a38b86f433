from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.proportion import clopper_pearson


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [  # by inverting the binomial distribution, as R's binom.test does
        (0, 10, 0.0, 0.3084971),
        (1, 10, 0.002528579, 0.4450161),
        (5, 10, 0.1870860, 0.8129140),
        (10, 10, 0.6915029, 1.0),
        (0, 100, 0.0, 0.03621669),
    ],
)
def test_known_intervals(hits, of, low, high):
    found = clopper_pearson(hits, of)
    assert found.low == pytest.approx(low, abs=5e-6)
    assert found.high == pytest.approx(high, abs=5e-6)
    assert found.method == "clopper-pearson"


@pytest.mark.parametrize(("hits", "of"), [(1, 0), (-1, 5), (6, 5)])
def test_what_is_no_share_is_refused(hits, of):
    with pytest.raises(ValueError, match="is not a share"):
        clopper_pearson(hits, of)


@pytest.mark.parametrize("of", [5, 20, 60])
@pytest.mark.parametrize("share", [0.005, 0.05, 0.3, 0.5])
def test_it_holds_the_truth_at_least_as_often_as_it_says(of, share):
    """Summed over all outcomes, so exact and without chance."""
    from scipy.stats import binom

    held = sum(binom.pmf(k, of, share) for k in range(of + 1) if share in clopper_pearson(k, of))
    assert held >= 0.95


@given(of=st.integers(1, 500), data=st.data())
def test_it_holds_the_share_itself_and_mirrors(of, data):
    hits = data.draw(st.integers(0, of))
    found, mirrored = clopper_pearson(hits, of), clopper_pearson(of - hits, of)
    assert 0 <= found.low <= hits / of <= found.high <= 1
    assert found.low == pytest.approx(1 - mirrored.high, abs=1e-9)
