from __future__ import annotations

import dataclasses

import pytest

from steelyard.analysis.failures import failure_rates
from steelyard.analysis.summary import summarise_run
from steelyard.errors import UsageError
from steelyard.stats.proportion import clopper_pearson


def rates(record):
    (table,) = failure_rates(summarise_run(record))
    return table.rows


def test_failures_are_counted_over_all_copies_of_all_repetitions(build, plans):
    rows = rates(build(**plans.streams()))
    assert len(rows) == 10
    assert all((row.failed, row.attempts, row.n) == (3, 120, 6) for row in rows)
    assert rows[0].share.value == pytest.approx(3 / 120)
    assert rows[0].share.interval == clopper_pearson(3, 120)


def test_without_counts_there_is_no_interval_but_a_reason(build, plans):
    row = rates(build(**plans.streams(copies=lambda cell: 7)))[0]
    assert (row.failed, row.attempts, row.share.interval) == (None, None, None)
    assert row.share.value == pytest.approx(0.025)
    assert "the number of attempts is not recorded" in row.share.reason


@pytest.mark.parametrize("facts", [{"attempts": 4}, {"n1-0": {"attempts": 4}, "n1-1": {"attempts": 4}}])
def test_a_copy_may_make_several_attempts(build, plans, facts):
    plan = plans.streams(
        parameters={"streams": [1]},
        figures=lambda *_: {"throughput": 1.0, "failure_rate": 0.125},
        copies=lambda cell: 2,
        facts=facts,
    )
    (row,) = rates(build(**plan))
    assert (row.failed, row.attempts) == (6, 48)


def test_trials_that_failed_as_a_whole_are_told_beside(build, plans):
    plan = plans.streams(parameters={"streams": [1]}, failures={("streams=1", 2): ("crashed", "all of them")})
    (row,) = rates(build(**plan))
    assert (row.lost, row.n, row.attempts) == (1, 5, 100)


def test_a_run_without_the_metric_has_none(build):
    with pytest.raises(UsageError, match="no trial that counts has the metric 'failure_rate'"):
        rates(build())


def test_each_measured_phase_has_its_own(build, plans):
    names = ("gridftp_failure_rate", "xrootd_failure_rate")
    record = build(
        **plans.streams(
            metrics=[dataclasses.replace(plans.FAILED, name=name) for name in names],
            figures=lambda *_: dict.fromkeys(names, 0.0),
        )
    )
    tables = failure_rates(summarise_run(record))
    assert [table.metric for table in tables] == list(names)
    assert all(row.failed == 0 and row.share.interval.high > 0.02 for table in tables for row in table.rows)
