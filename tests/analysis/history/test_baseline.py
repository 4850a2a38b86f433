from __future__ import annotations

import pytest

from steelyard.analysis.history.baseline import select_baseline
from steelyard.errors import UsageError


def commits(runs):
    return [run.commit for run in runs]


def test_the_segment_is_what_was_before_since_the_last_change(make_runs):
    history = make_runs(30, shift_at=15)
    newest = history.runs[-1].id
    assert commits(select_baseline(history, [newest], "segment")) == [f"c{n}" for n in range(15, 29)]


def test_several_runs_are_compared_with_what_was_before_the_first(make_runs):
    history = make_runs(6)
    judged = [run.id for run in history.runs[-2:]]
    assert commits(select_baseline(history, judged, "segment")) == ["c0", "c1", "c2", "c3"]


def test_a_tag_or_its_value_names_the_runs(make_runs):
    history = make_runs(4, plan=lambda number: {"tags": {"release": f"1.{number // 2}"}})
    newest = history.runs[-1].id
    assert len(select_baseline(history, [newest], "tag:release")) == 3
    assert len(select_baseline(history, [newest], "tag:release=1.0")) == 2
    with pytest.raises(UsageError, match="release=2"):
        select_baseline(history, [newest], "tag:release=2")


def test_the_first_run_of_a_segment_has_none_and_learns_why(make_runs):
    history = make_runs(
        2, plan=lambda number: {"environment": {"kernel": {"release": "6.1" if number < 1 else "6.5"}}}
    )
    with pytest.raises(UsageError, match=r"kernel: 6\.1 -> 6\.5"):
        select_baseline(history, [history.runs[-1].id], "segment")


def test_a_run_that_is_left_out_has_none(make_runs):
    history = make_runs(3, plan=lambda number: {"tags": {"confirms": "x"}} if number == 2 else {})
    with pytest.raises(UsageError, match="confirms x"):
        select_baseline(history, [history.left_out[0].run], "segment")
