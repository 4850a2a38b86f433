from __future__ import annotations

import math

import numpy as np
import pytest

from steelyard.stats.several_runs import compare_several_runs, smallest_change_of_runs

WITHIN = 0.03


def test_figures_are_those_of_the_runs_and_agree_with_each_other():
    found = compare_several_runs([[1, 2, 3], [2, 4, 9]], [[4, 4, 4], [16, 16, 16]], better="lower")
    assert (found.median_a, found.median_b) == (pytest.approx(math.sqrt(8)), pytest.approx(8))
    assert found.ratio == pytest.approx(found.median_b / found.median_a)
    assert (found.n_a, found.n_b, found.runs_a, found.runs_b) == (6, 6, 2, 2)
    assert found.direction == 1


def test_interval_and_p_value_are_students_over_the_runs():
    from scipy.stats import ttest_ind

    a, b = [[10.0], [11.0], [12.5]], [[9.0], [9.5], [8.0], [9.1]]
    found = compare_several_runs(a, b, better="lower")
    logs = [[math.log(run[0]) for run in side] for side in (b, a)]
    known = ttest_ind(*logs)
    assert found.p_value == pytest.approx(known.pvalue)
    ends = known.confidence_interval(0.95)
    assert (found.ratio_interval.low, found.ratio_interval.high) == (
        pytest.approx(math.exp(ends.low)),
        pytest.approx(math.exp(ends.high)),
    )


def test_values_at_zero_have_a_difference_and_no_ratio():
    found = compare_several_runs([[0.0], [1.0]], [[3.0], [4.0]], better="none")
    assert (found.ratio, found.difference) == (None, 3.0)
    assert found.difference_interval.low < 3 < found.difference_interval.high
    assert "no ratio: a value is 0" in found.ratio_reason


def test_one_run_has_the_spread_of_the_several_it_is_set_against():
    history = [[100.0 + n] for n in (-1, 0, 1, 0.5, -0.5)]
    assert compare_several_runs(history, [[104.0]], better="lower").p_value < 0.05
    assert compare_several_runs(history, [[101.0]], better="lower").p_value > 0.05


def test_two_runs_alone_say_nothing_of_how_runs_differ():
    found = compare_several_runs([[1.0] * 9], [[2.0] * 9], better="lower")
    assert (found.p_value, found.ratio_interval, found.is_testable) == (None, None, False)
    assert smallest_change_of_runs([[1.0]], [[2.0]], better="lower", alpha=0.05) is None


def test_what_not_even_sixteen_times_would_show_is_no_change_to_name():
    for better in ("lower", "higher"):
        assert smallest_change_of_runs([[1.0], [2.0]], [[1.5]], better=better, alpha=0.01) is None


def test_runs_that_are_all_alike_are_told_apart_by_any_difference():
    assert compare_several_runs([[1.0], [1.0]], [[1.0], [1.0]], better="lower").p_value == 1
    assert compare_several_runs([[1.0], [1.0]], [[2.0], [2.0]], better="lower").p_value == 0


def test_failed_trials_count_as_the_worst_value_of_any():
    a = [[10.0, 10.1, 10.2], [10.1, 10.3, 10.0], [10.2, 10.0, 10.1], [10.1, 10.2, 15.0]]
    fine = compare_several_runs(a, a, better="lower")
    failing = compare_several_runs(a, a, better="lower", failed=(0, 16))
    assert fine.p_value == 1
    assert failing.p_value < 0.001
    assert failing.direction == 1
    assert compare_several_runs(a, a, better="higher", failed=(0, 16)).direction == -1


def test_the_smallest_change_is_the_one_that_the_test_just_sees():
    a = [[100.0], [102.0], [99.0], [101.0]]
    for better, sign in (("lower", 1), ("higher", -1)):
        least = smallest_change_of_runs(a, a, better=better, alpha=0.05)
        for share, seen in ((1.01, True), (0.99, False)):
            scaled = [[run[0] * (1 + sign * least * share)] for run in a]
            assert (compare_several_runs(a, scaled, better=better).p_value <= 0.05) is seen


def drawn(rng, runs, trials, between, within):
    """Runs of equal programs: each has a level of its own, and its trials scatter around that."""
    levels = between(rng, runs) * WITHIN
    return np.exp(levels[:, None] + within(rng, (runs, trials)) * WITHIN)


def bimodal(rng, runs):
    """Every fourth run or so lands in the slow state; standard deviation 1."""
    return rng.choice([0.0, 1.0], runs, p=[0.75, 0.25]) / math.sqrt(0.75 * 0.25)


def alarms(sizes, between, within, samples=2000, test=None):
    rng = np.random.default_rng([2026, *sizes])
    test = test or (lambda a, b: compare_several_runs(a, b, better="lower").p_value <= 0.05)
    pairs = ([drawn(rng, runs, 8, between, within).tolist() for runs in sizes] for _ in range(samples))
    return sum(test(a, b) for a, b in pairs) / samples


@pytest.mark.full
@pytest.mark.parametrize("sizes", [(3, 3), (5, 5), (6, 3), (10, 1)], ids=str)
@pytest.mark.parametrize(
    "within", [np.random.Generator.standard_normal, np.random.Generator.standard_exponential]
)
def test_equal_programs_raise_few_alarms_where_runs_differ_as_much_as_trials(sizes, within):
    share = alarms(sizes, np.random.Generator.standard_normal, within)
    print(f"runs {sizes}, {within.__name__}: {100 * share:.1f} % false alarms")
    assert share <= 0.06


def resampled(rng, side, draws=400):
    """The mean of medians of runs drawn with replacement, with trials drawn with replacement from each."""
    runs = np.log(np.array(side))
    count, trials = runs.shape
    picked = rng.integers(0, count, (draws, count))[:, :, None]
    return np.median(runs[picked, rng.integers(0, trials, (draws, count, trials))], axis=2).mean(axis=1)


@pytest.mark.full
@pytest.mark.parametrize(("sizes", "least"), [((3, 3), 0.09), ((5, 5), 0.06), ((10, 1), 0.2)], ids=str)
def test_drawing_runs_and_then_trials_raises_too_many_alarms(sizes, least):
    """Why `compare_several_runs` does not do it: a few runs, drawn with replacement, differ less than runs
    do."""
    rng = np.random.default_rng(7)

    def excludes_none(a, b):
        low, high = np.quantile(resampled(rng, b) - resampled(rng, a), [0.025, 0.975])
        return not low <= 0 <= high

    normal = np.random.Generator.standard_normal
    share = alarms(sizes, normal, normal, samples=1000, test=excludes_none)
    print(f"runs {sizes}, drawn twice with replacement: {100 * share:.1f} % false alarms")
    assert share >= least


@pytest.mark.full
def test_runs_in_one_of_two_states_raise_few_alarms():
    share = alarms((4, 4), bimodal, np.random.Generator.standard_normal)
    print(f"runs (4, 4) in two states: {100 * share:.1f} % false alarms")
    assert share <= 0.06


@pytest.mark.full
def test_a_change_as_large_as_the_smallest_is_found_about_every_other_time():
    normal, rng = np.random.Generator.standard_normal, np.random.default_rng(11)
    found = 0
    for _ in range(500):
        a, b = (drawn(rng, 5, 8, normal, normal).tolist() for _ in range(2))
        least = smallest_change_of_runs(a, b, better="lower", alpha=0.05)
        slower = [[value * (1 + least) for value in run] for run in b]
        found += compare_several_runs(a, slower, better="lower").p_value <= 0.05
    print(f"found: {found / 5:.0f} %")
    assert 0.4 <= found / 500 <= 0.6
