"""The proof that the statistics hold what they promise: made-up worlds whose truth is known (`bench.worlds`).

`make test-full` runs all of it. `pytest tests/stats/test_simulation.py -m full -s` prints every figure that
the docstrings of `steelyard.stats` quote. What reports quote is measured by `make bench ARGS=simulations`, of
the same parts. Everything is seeded, so a figure changes only with the code.
"""

from __future__ import annotations

import numpy as np
import pytest
from bench.coverage import (
    false_alarm_rate,
    family,
    median_coverage,
    policy_coverage,
    share,
    stopped,
)
from bench.worlds import (
    BIMODAL,
    EXPONENTIAL,
    LOGNORMAL,
    NORMAL,
    ROUNDED,
    WORLDS,
    World,
    autocorrelated,
    bimodal,
    normal,
)

from steelyard.stats.bootstrap import ratio_of_medians
from steelyard.stats.interval import Interval, mean_interval, median_ranks
from steelyard.stats.outliers import Policy
from steelyard.stats.over_time.autocorrelation import find_alarms
from steelyard.stats.stopping import STRICTER
from steelyard.stats.verdict import Verdict, judge_comparisons

UNLIKE = ((normal(2), normal(6)), (NORMAL, EXPONENTIAL), (NORMAL, BIMODAL))
PAIRS = (*((world, world) for world in WORLDS), *UNLIKE)

each_world = pytest.mark.parametrize("world", WORLDS, ids=str)
each_pair = pytest.mark.parametrize(("a", "b"), PAIRS, ids=str)


def report(what: str, figure: float) -> float:
    print(f"\n  {what}: {100 * figure:.1f} %", end="")
    return figure


def ratio_coverage(a: World, b: World, n: int, m: int, samples: int) -> float:
    rows = zip(a.rows(2, samples, n), b.rows(3, samples, m), strict=True)
    intervals = (ratio_of_medians(row, other) for row, other in rows)
    return share(interval is not None and b.median / a.median in interval for interval in intervals)


def power(sd: float, n: int, others: int, runs: int) -> float:
    """How often a slowdown by 10 % is called worse, among `others` comparisons without any change."""
    slow = World("slow", lambda rng, shape: 0.9 * rng.normal(100, sd, shape), 90)
    planted = family(normal(sd), slow, 4, runs, n)
    alike = family(normal(sd), normal(sd), 6, runs * others, n)
    groups = ([one, *alike[k * others : (k + 1) * others]] for k, one in enumerate(planted))
    return share(judge_comparisons(group)[0].verdict == Verdict.WORSE for group in groups)


# The fast part, run by default: the same machinery on few samples, with bounds as wide as that deserves.


@each_world
@pytest.mark.parametrize("n", [6, 9])
def test_median_intervals_cover_roughly_what_they_claim(world: World, n: int) -> None:
    assert 0.93 <= median_coverage(world, n, 1000) <= 0.985


@each_pair
def test_ratio_intervals_cover_roughly_what_they_claim(a: World, b: World) -> None:
    assert 0.92 <= ratio_coverage(a, b, 6, 6, 800) <= 0.98


def test_a_few_a_a_runs_stay_calm() -> None:
    assert false_alarm_rate(NORMAL, 6, 40) <= 0.10


def test_a_planted_slowdown_is_found() -> None:
    assert power(3, 6, 0, 100) >= 0.98


# The full part.


@pytest.mark.full
@each_world
@pytest.mark.parametrize("n", [6, 7, 8, 9, 10, 12, 15, 20, 30])
def test_median_intervals_cover_what_their_ranks_claim(world: World, n: int) -> None:
    """0.4 % is four standard errors of a share of 40,000."""
    ranks = median_ranks(n)
    assert ranks is not None
    what = f"median, {world}, n={n}, claims {100 * ranks.confidence:.1f}"
    assert report(what, median_coverage(world, n, 40_000)) == pytest.approx(ranks.confidence, abs=0.004)
    # The next narrower pair of ranks would cover 87.5, 93.0 and 89.1 % only.
    if n not in (7, 8, 10):
        assert 0.93 <= ranks.confidence <= 0.97


@pytest.mark.full
@pytest.mark.parametrize(("phi", "low", "high"), [(0.3, 0.89, 0.93), (0.5, 0.80, 0.86), (0.8, 0.56, 0.63)])
@pytest.mark.parametrize("n", [6, 9, 20])
def test_dependent_repetitions_are_covered_too_seldom(phi: float, low: float, high: float, n: int) -> None:
    """No interval of a single cell can mend this; it is why dependence is looked for and warned of."""
    world = autocorrelated(phi)
    assert low <= report(f"median, {world}, n={n}", median_coverage(world, n, 10_000)) <= high


@pytest.mark.full
@pytest.mark.parametrize(
    ("phi", "n", "low", "high"),
    [
        (0.0, 6, 0.015, 0.050), (0.0, 10, 0.020, 0.050), (0.0, 20, 0.030, 0.055),
        (0.5, 6, 0.060, 0.120), (0.5, 10, 0.150, 0.250), (0.5, 20, 0.430, 0.550),
        (0.8, 6, 0.120, 0.200), (0.8, 10, 0.370, 0.480), (0.8, 20, 0.800, 0.900),
    ],
)  # fmt: skip
def test_how_often_dependence_is_noticed(phi: float, n: int, low: float, high: float) -> None:
    world = autocorrelated(phi)
    found = (find_alarms([row])[0] for row in world.rows(5, 4000, n))
    assert low <= report(f"warned of, {world}, n={n}", share(map(bool, found))) <= high


@pytest.mark.full
@pytest.mark.parametrize(
    ("world", "low", "high"), [(NORMAL, 0.94, 0.96), (LOGNORMAL, 0.90, 0.94), (BIMODAL, 0.86, 0.96)], ids=str
)
def test_mean_intervals_are_right_for_normal_values_only(world: World, low: float, high: float) -> None:
    for n in (6, 10, 20):
        intervals = (mean_interval(row) for row in world.rows(7, 10_000, n))
        covered = share(interval is not None and world.mean in interval for interval in intervals)
        assert low <= report(f"mean, {world}, n={n}", covered) <= high


@pytest.mark.full
@pytest.mark.parametrize(
    ("policy", "world", "low"),
    [
        ("extremes", NORMAL, 0.95), ("extremes", LOGNORMAL, 0.95), ("extremes", BIMODAL, 0.95),
        ("tukey", NORMAL, 0.93), ("tukey", LOGNORMAL, 0.93), ("tukey", BIMODAL, 0.86),
        ("mad", NORMAL, 0.94), ("mad", LOGNORMAL, 0.93), ("mad", BIMODAL, 0.78),
    ],
    ids=str,
)  # fmt: skip
def test_what_dropping_outliers_does_to_the_interval(policy: Policy, world: World, low: float) -> None:
    """Exact after `extremes`; the other two shrink it, most where a second mode passes for outliers."""
    for n in (9, 10, 12, 20):
        covered = policy_coverage(policy, world, n, 5000)
        assert low <= report(f"median after {policy}, {world}, n={n}", covered) <= 0.985


@pytest.mark.full
@pytest.mark.parametrize(("sd", "within"), [(2, 0.02), (2, 0.03), (3, 0.03), (3, 0.05), (5, 0.05), (8, 0.05)])
def test_what_a_sequential_stop_costs(sd: float, within: float) -> None:
    """From 6 to 20 repetitions, asked after each; a fixed number of them would cover 95.8 % or more."""
    covered = share(cell.holds for cell in stopped(normal(sd), within, 20, 8000))
    assert 0.95 <= report(f"sequential stop, sd {sd} %, within {100 * within:g} %", covered) <= 0.995


@pytest.mark.full
@pytest.mark.parametrize(
    ("decides", "low", "high"), [(0.95, 0.88, 0.91), (0.98, 0.93, 0.95), (0.99, 0.945, 0.96)]
)
def test_why_a_stop_is_judged_more_strictly(decides: float, low: float, high: float) -> None:
    """Two modes of equal weight: six values of one of them come often enough to be believed."""
    judged = 1 - (1 - decides) * STRICTER
    covered = share(cell.holds for cell in stopped(bimodal(0.5, 20, 2), 0.05, 20, 8000, judged=judged))
    assert low <= report(f"sequential stop by {100 * decides:g} %", covered) <= high


@pytest.mark.full
@each_pair
def test_ratio_intervals_cover_what_they_claim(a: World, b: World) -> None:
    """Small samples make the steps coarse (n=7 low, n=9 high), hence half a percent beyond 93 to 97."""
    for n, m in [(6, 6), (7, 7), (8, 8), (9, 9), (10, 10), (15, 15), (20, 20), (6, 20), (20, 6)]:
        covered = ratio_coverage(a, b, n, m, 8000 if n + m < 30 else 2000)
        assert 0.925 <= report(f"ratio, {a} against {b}, n={n} against {m}", covered) <= 0.98


def moses(a: list[float], b: list[float], cut: int) -> Interval:
    """The interval that inverts the rank test: the ordered ratios b/a without `cut` at either end."""
    ratios = np.sort(np.divide.outer(b, a).ravel())
    return Interval(float(ratios[cut]), float(ratios[-1 - cut]), 0.95, "moses")


@pytest.mark.full
@pytest.mark.parametrize(
    ("a", "b", "n", "m", "cut", "low", "high"),
    [
        (NORMAL, NORMAL, 10, 10, 23, 0.94, 0.97),
        (*UNLIKE[0], 20, 6, 27, 0.85, 0.89),
        (*UNLIKE[1], 20, 20, 127, 0.90, 0.94),
    ],
    ids=str,
)
def test_why_the_interval_is_not_that_of_the_rank_test(
    a: World, b: World, n: int, m: int, cut: int, low: float, high: float
) -> None:
    """`cut` is the largest U that the two-sided test rejects at 5 %, as printed tables give it."""
    rows = zip(a.rows(2, 4000, n), b.rows(3, 4000, m), strict=True)
    covered = share(b.median / a.median in moses(row, other, cut) for row, other in rows)
    assert low <= report(f"not taken: Moses, {a} against {b}, n={n} against {m}", covered) <= high


@pytest.mark.full
@pytest.mark.parametrize("world", [*WORLDS, ROUNDED], ids=str)
@pytest.mark.parametrize(("n", "families"), [(6, 500), (7, 500), (10, 400), (20, 150)])
def test_twenty_a_a_pairs_seldom_raise_an_alarm(world: World, n: int, families: int) -> None:
    rate = false_alarm_rate(world, n, families)
    assert report(f"A/A, 20 pairs, {world}, n={n}, any alarm", rate) <= 0.08


@pytest.mark.full
@pytest.mark.parametrize(
    ("sd", "n", "others", "least"),
    [
        (2, 6, 0, 0.99), (3, 6, 0, 0.99), (5, 6, 0, 0.78),
        (2, 10, 0, 0.99), (3, 10, 0, 0.99), (5, 10, 0, 0.94),
        (2, 6, 19, 0.98), (3, 6, 19, 0.80), (2, 10, 19, 0.99), (3, 10, 19, 0.99), (5, 10, 19, 0.72),
    ],
)  # fmt: skip
def test_how_often_a_slowdown_by_ten_percent_is_found(sd: float, n: int, others: int, least: float) -> None:
    found = power(sd, n, others, 2000 if others == 0 else 1000)
    assert report(f"10 % slower, sd {sd} %, n={n}, among {others + 1}", found) >= least
