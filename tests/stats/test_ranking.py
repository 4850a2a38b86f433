from __future__ import annotations

import numpy as np
import pytest

from steelyard.stats.ranking import ranking


def samples(medians, *, n=8, noise=0.01, seed=1):
    rng = np.random.default_rng(seed)
    return [(middle * (1 + noise * rng.standard_normal(n))).tolist() for middle in medians]


def test_what_lies_far_apart_has_sure_ranks():
    found = ranking(samples([10, 30, 20]), better="higher", seed=1)
    assert [place.rank for place in found.places] == [3, 1, 2]
    assert [(place.low, place.high) for place in found.places] == [(3, 3), (1, 1), (2, 2)]
    assert all(place.tied == () for place in found.places)
    assert all(place.shares[place.rank - 1] == 1 for place in found.places)
    assert found.enough


def test_of_times_the_lowest_comes_first():
    assert [place.rank for place in ranking(samples([10, 30, 20]), better="lower", seed=1).places] == [
        1,
        3,
        2,
    ]


def test_equal_ones_are_tied_and_share_their_ranks():
    found = ranking(samples([20, 10, 20], noise=0.05), better="higher", seed=1)
    assert found.places[0].tied == (2,)
    assert found.places[2].tied == (0,)
    assert [(place.low, place.high) for place in found.places] == [(1, 2), (3, 3), (1, 2)]
    assert sum(found.places[0].shares) == pytest.approx(1)
    assert found.places[0].shares[2] == 0


def test_identical_samples_share_the_better_rank():
    found = ranking([[1.0, 2, 3, 4, 5, 6]] * 2, better="higher", seed=1)
    assert [place.rank for place in found.places] == [1, 1]


def test_too_few_trials_tell_nothing_apart():
    few = ranking(samples([1, 2, 3], n=3), better="higher", seed=1)
    assert not few.enough
    assert [(place.low, place.high) for place in few.places] == [(1, 3)] * 3
    many = ranking(samples(list(range(1, 16)), n=6), better="higher", seed=1)
    assert not many.enough  # 105 comparisons are more than six trials each can judge
    assert ranking(samples(list(range(1, 16)), n=8), better="higher", seed=1).enough


def test_the_same_seed_gives_the_same_shares():
    close = samples([100, 101, 102], noise=0.03)
    assert ranking(close, better="higher", seed=4) == ranking(close, better="higher", seed=4)


def test_one_alone_is_no_ranking():
    with pytest.raises(ValueError, match="at least 2 samples"):
        ranking([[1.0]], better="higher", seed=1)
