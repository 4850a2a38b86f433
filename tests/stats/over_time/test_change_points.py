from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.over_time.change_points import FEWEST, SMALLEST_SEGMENT, choose_level, find_change_points


def noise(seed: int, n: int, centre: float = 100.0) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(centre, 2) for _ in range(n)]


def test_a_shift_is_found_where_it_is():
    (point,) = find_change_points([*noise(1, 30), *noise(4, 10, 90)])
    assert point.at == 30
    assert point.p_value <= choose_level(40)
    assert point.factor == 1


def test_every_level_is_found():
    places = [
        point.at for point in find_change_points([*noise(1, 20), *noise(4, 20, 90), *noise(3, 20, 110)])
    ]
    assert places == [20, 40]


def test_noise_is_no_change():
    assert [find_change_points(noise(seed, 40)) for seed in range(20)] == [[]] * 20


def test_neither_a_spike_nor_a_short_excursion_is_a_level():
    assert find_change_points([*noise(1, 20), 500.0, *noise(2, 19)]) == []
    assert find_change_points([*noise(1, 20), *noise(2, SMALLEST_SEGMENT - 1, 500), *noise(3, 20)]) == []


def test_few_or_equal_values_say_nothing():
    assert find_change_points([1.0] * 50) == []
    assert find_change_points([*[1.0] * 4, *[9.0] * (FEWEST - 5)]) == []


def test_the_same_history_gives_the_same_answer():
    values = [*noise(1, 30), *noise(2, 6, 96)]
    assert find_change_points(values) == find_change_points(values)


def test_the_unit_of_figures_does_not_matter():
    values = [*noise(1, 30), *noise(2, 10, 95)]
    assert find_change_points(values) == find_change_points([value * 1e6 - 3 for value in values])


def test_many_series_must_each_be_clearer():
    values = [*noise(7, 16), *noise(8, 6, 92)]
    assert [point.at for point in find_change_points(values)] == [16]
    assert find_change_points(values, family=20) == []


def remember(seed: int, n: int) -> list[float]:
    """Each value keeps 0.8 of the one before."""
    draw, values = random.Random(seed), [100.0]
    for _ in range(n - 1):
        values.append(100 + 0.8 * (values[-1] - 100) + draw.gauss(0, 1))
    return values


def test_where_neighbours_are_alike_a_change_must_be_clearer():
    wandering = [find_change_points(remember(seed, 60)) for seed in range(10)]
    assert sum(map(bool, wandering)) <= 5, "they wander as if they had levels"
    shifted = [value + (30 if place >= 30 else 0) for place, value in enumerate(remember(1, 60))]
    assert [(point.at, point.factor > 1) for point in find_change_points(shifted)] == [(30, True)]


@pytest.mark.parametrize("bad", [[], [1.0, float("nan")], [1e200]])
def test_what_is_no_measurement_is_refused(bad):
    with pytest.raises(ValueError):
        find_change_points(bad)


@given(
    st.lists(
        st.floats(-1e9, 1e9).filter(lambda value: value == 0 or abs(value) > 1e-9), min_size=1, max_size=40
    )
)
def test_places_are_in_order_and_levels_long_enough(values):
    ends = [0, *(point.at for point in find_change_points(values)), len(values)]
    assert ends == sorted(set(ends))
    if len(ends) > 2:
        assert min(after - before for before, after in pairwise(ends)) >= SMALLEST_SEGMENT
