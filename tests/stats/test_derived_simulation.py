"""The proof that knees and ranks hold the truth as often as they promise, in worlds whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.stats.knee import knee
from steelyard.stats.ranking import ranking

STUDIES = {
    "plateau": [50, 80, 100, 100, 100],
    "saturating": [40, 70, 92, 97, 100, 100, 101, 101],
    "flat": [100, 100, 100, 100],
    "rising": [10, 20, 40, 80],
    "declining": [60, 100, 80, 70],
    "just inside the tolerance": [95.3, 100, 100, 100, 100, 100, 100, 100],
    "just outside it": [94.9, 100, 99, 99, 99],
}


def drawn(rng, medians, noise, n):
    if noise == "lognormal":
        return [(middle * rng.lognormal(0, 0.03, n)).tolist() for middle in medians]
    return [rng.normal(middle, 0.03 * middle, n).tolist() for middle in medians]


def true_knee(medians, tolerance=0.05):
    return next(
        at
        for at, middle in enumerate(medians)
        if all(later <= middle * (1 + tolerance) for later in medians[at:])
    )


@pytest.mark.full
@pytest.mark.parametrize("n", [6, 12])
@pytest.mark.parametrize("noise", ["normal", "lognormal"])
@pytest.mark.parametrize("name", STUDIES)
def test_the_knee_lies_in_its_range(name, noise, n):
    rng = np.random.default_rng([len(name), n])
    truth, studies = true_knee(STUDIES[name]), 400
    found = [knee(drawn(rng, STUDIES[name], noise, n), better="higher") for _ in range(studies)]
    covered = sum(one.first <= truth <= one.last for one in found) / studies
    decided = sum(one.kind != "undecided" for one in found) / studies
    print(f"knee, {name}, {noise}, n={n}: holds the truth in {covered:.1%}, decides in {decided:.1%}")
    assert covered >= 0.94  # 95 % less what 400 studies can scatter


@pytest.mark.full
@pytest.mark.parametrize("n", [6, 10])
@pytest.mark.parametrize(
    "medians",
    [[100] * 5, [100, 100, 103, 103, 110], [100, 102, 104, 106, 108]],
    ids=["equal", "tied", "close"],
)
def test_all_ranks_lie_in_their_intervals_together(medians, n):
    rng, runs = np.random.default_rng([n, len(medians)]), 400
    held = percentiles = 0
    for run in range(runs):
        found = ranking(drawn(rng, medians, "normal", n), better="higher", seed=run, resamples=400)
        held += all(
            place.low <= 1 + sum(other > mine for other in medians)
            and place.high >= len(medians) - sum(other < mine for other in medians)
            for place, mine in zip(found.places, medians, strict=True)
        )
        percentiles += all(
            sum(place.shares[: 1 + sum(other > mine for other in medians)]) > 0.025
            and sum(place.shares[len(medians) - 1 - sum(other < mine for other in medians) :]) > 0.025
            for place, mine in zip(found.places, medians, strict=True)
        )
    print(f"ranks, {medians}, n={n}: intervals hold {held / runs:.1%}, percentiles {percentiles / runs:.1%}")
    assert held / runs >= 0.94
