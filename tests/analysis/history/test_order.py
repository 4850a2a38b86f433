from __future__ import annotations

from typing import NamedTuple

import pytest

from steelyard.analysis.history.order import sort_runs


class Run(NamedTuple):
    started: float
    tags: dict[str, str]


def order(values: list[str], by: str = "version") -> list[float]:
    return [run.started for run in sort_runs([Run(n, {"version": v}) for n, v in enumerate(values)], by)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1.10", "1.9", "v1.2"], [2, 1, 0]),
        (["10", "9", "100"], [1, 0, 2]),
        (["2026-11-25", "2026-02-01T10:00:00Z"], [1, 0]),
        (["beef", "cafe", "beef"], [0, 2, 1]),
    ],
)
def test_versions_have_an_order_and_commits_stand_where_they_were_first_measured(values, expected):
    assert order(values) == expected


def test_by_time_tags_do_not_matter():
    assert order(["9", "1", "5"], "wall") == [0, 1, 2]
