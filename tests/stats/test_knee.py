from __future__ import annotations

import numpy as np
import pytest

from steelyard.stats.knee import knee


def study(medians, *, n=8, noise=0.01, seed=1):
    rng = np.random.default_rng(seed)
    return [(middle * (1 + noise * rng.standard_normal(n))).tolist() for middle in medians]


def test_a_plateau_has_its_knee_where_it_begins():
    found = knee(study([50, 80, 100, 100.5, 100]), better="higher")
    assert (found.kind, found.first, found.last) == ("found", 2, 2)
    assert found.before.of == 1
    assert found.before.change.interval.low > 0.05
    assert found.beyond.of == 2
    assert found.beyond.change.interval.high <= 0.05


def test_gains_that_go_on_have_no_knee():
    found = knee(study([10, 20, 40, 80]), better="higher")
    assert (found.kind, found.first, found.last) == ("none", 3, 3)
    assert found.beyond is None


def test_a_flat_line_has_its_knee_at_once():
    found = knee(study([100, 100, 100]), better="higher")
    assert (found.kind, found.last) == ("found", 0)
    assert found.before is None


def test_a_decline_after_the_best_level_is_no_gain():
    found = knee(study([50, 100, 80, 60]), better="higher")
    assert (found.kind, found.last) == ("found", 1)


def test_of_times_lower_is_better():
    found = knee(study([100, 60, 50, 50, 50]), better="lower")
    assert (found.kind, found.last) == ("found", 2)


def test_what_noise_hides_is_a_range_that_holds_the_truth():
    found = knee(study([60, 97, 100, 100], noise=0.06, n=6), better="higher")
    assert found.kind == "undecided"
    assert found.first <= 1 <= found.last


def test_the_tolerance_moves_the_knee():
    samples = study([80, 90, 100, 101], n=12)
    assert knee(samples, better="higher", tolerance=0.03).last == 2
    assert knee(samples, better="higher", tolerance=0.20).last == 1
    assert knee(samples, better="higher", tolerance=0.50).last == 0


def test_too_few_trials_name_no_knee():
    assert knee([*study([1, 2], n=8), [3.0] * 5], better="higher") is None


@pytest.mark.parametrize(("samples", "tolerance"), [([[1.0] * 6], 0.05), ([[1.0] * 6] * 2, -0.1)])
def test_what_makes_no_sense_is_refused(samples, tolerance):
    with pytest.raises(ValueError, match="a knee needs 2 levels"):
        knee(samples, better="higher", tolerance=tolerance)


def test_values_must_be_above_zero():
    with pytest.raises(ValueError, match="above zero"):
        knee([[0.0] * 6, [1.0] * 6], better="higher")
