from __future__ import annotations

import pytest

from steelyard.analysis.derived import derive
from steelyard.analysis.knee import knee_study
from steelyard.analysis.ranking import rankings
from steelyard.analysis.summary import summarise_run
from steelyard.errors import UsageError


def ranked(record, **options):
    return rankings(record, summarise_run(record), **options)


def test_machines_are_ranked_by_their_types_in_every_other_combination(build, plans):
    single, full = ranked(build(**plans.gensim()))
    assert (single.of, single.parameter, single.label) == ("machine", "machine", "copies=1")
    assert [row.name for row in full.rows] == ["cc2.8xlarge", "c4.2xlarge", "m3.xlarge"]
    assert [row.place.rank for row in full.rows] == [1, 2, 3]
    assert [(row.place.low, row.place.high) for row in full.rows] == [(1, 1), (2, 2), (3, 3)]
    assert single.rows[0].name == "c4.2xlarge"
    assert full.note == ""


def test_levels_of_a_parameter_are_ranked(build, plans):
    tables = ranked(build(**plans.streams()), of="protocol", metric="throughput")
    assert len(tables) == 5
    assert all([row.name for row in table.rows] == ["xrootd", "gridftp"] for table in tables)
    assert {table.of for table in tables} == {"protocol"}


def test_of_failures_the_lowest_comes_first(build, plans):
    record = build(
        **plans.streams(
            parameters={"protocol": ["xrootd", "gridftp"]},
            figures=lambda cell, repetition, rng: {
                "throughput": 1.0,
                "failure_rate": 0.05 if cell.parameters["protocol"] == "xrootd" else 0.0,
            },
        )
    )
    (table,) = ranked(record, of="protocol", metric="failure_rate")
    assert [row.name for row in table.rows] == ["gridftp", "xrootd"]


def test_what_cannot_be_told_apart_is_tied(build, plans):
    record = build(
        **plans.gensim(figures=lambda cell, repetition, rng: {"events_per_second": rng.gauss(10, 1)})
    )
    table = ranked(record)[0]
    assert table.rows[0].tied
    assert all((row.place.low, row.place.high) == (1, 3) for row in table.rows)


def test_two_machines_of_one_type_are_told_apart_by_their_level(build, plans):
    plan = plans.gensim()
    hosts = [{**host, "type": "m3.xlarge"} for host in plan["environment"]["hosts"][:2]]
    third = plan["environment"]["hosts"][2]
    table = ranked(build(**{**plan, "environment": {"hosts": [*hosts, third]}}))[1]
    assert {row.name for row in table.rows} == {
        "m3.xlarge (machine=0)",
        "m3.xlarge (machine=1)",
        "cc2.8xlarge",
    }


def test_too_few_trials_are_said(build, plans):
    table = ranked(build(**plans.gensim(repetitions=4)))[0]
    said = "n=4 cannot distinguish any of 3 in 3 comparisons: use more repetitions or rank fewer levels"
    assert table.note == said


def test_growing_groups_of_hosts_are_no_machines(build, plans):
    with pytest.raises(UsageError, match="no single parameter of the run sets the machine"):
        ranked(build(**plans.growing()))


def test_what_goes_in_step_with_another_has_a_reason_why_it_is_not_ranked(build):
    cells = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    record = build(parameters={"a": [1, 2], "b": ["x", "y"]}, measured=lambda cell: cell.parameters in cells)
    with pytest.raises(UsageError, match="no two measured cells differ in 'a' alone: b changes with it"):
        ranked(record, of="a")
    summary = summarise_run(record)
    assert derive(record, summary).results == ()
    with pytest.raises(UsageError, match="b changes with it"):
        knee_study(summary, parameter="a")
