"""Derived results on a terminal, in JSON and in tables."""

from __future__ import annotations

import csv
import json

import pytest

from steelyard.analysis.derived import derive
from steelyard.analysis.findings import Findings
from steelyard.analysis.summary import summarise_run
from steelyard.report.derived_lines import derived_lines, sections
from steelyard.report.export import FORMS


def lines(record):
    derived = derive(record, summarise_run(record))
    return derived_lines(sections(derived), derived.notes)


def at(found, heading):
    """The lines below a heading up to the next empty one."""
    start = found.index(heading)
    end = found.index("", start) if "" in found[start:] else len(found)
    return found[start + 1 : end]


def test_a_plain_run_says_nothing(build):
    assert lines(build()) == []


def test_rate_per_core_total_and_loss_are_printed(machines):
    table = at(lines(machines), "Efficiency loss of events_per_second over copies")
    assert table[0].split("  ")[0] == "cell"
    for word in ("copies", "rate per core", "total", "efficiency loss [95 %]"):
        assert word in table[0]
    (full,) = [line for line in table if line.startswith("machine=0 copies=cores  4")]
    assert "47." in full
    assert full.endswith("]")
    assert table[-3].startswith("events_per_second (machine=0): with 4 copies, each core loses 4")
    assert table[-3].endswith("] of what it delivers with 1")


def test_a_gain_is_told_as_one(build, plans):
    def faster(cell, repetition, rng):
        return {"events_per_second": 144.0 if cell.parameters["copies"] == "cores" else 0.25}

    found = lines(build(**plans.gensim(figures=faster)))
    (line,) = [line for line in found if line.startswith("events_per_second (machine=0): with")]
    assert line == "events_per_second (machine=0): with 4 copies, each core delivers 144 [144, 144] times" + (
        " what it delivers with 1"
    )
    assert not [line for line in found if "loses -" in line]


def test_costs_name_their_source_and_what_has_no_price(machines):
    table = at(lines(machines), "Cost of events_per_second")
    assert "USD an hour" in table[0]
    assert "prices in USD, prices: 2015-08-01" in table
    assert "no price known for cc2.8xlarge" in table
    assert table[-1].startswith("most work for the money: machine=1 copies=cores (c4.2xlarge)")


def test_rankings_are_printed_best_first(machines):
    table = at(lines(machines), "Ranking of machine by events_per_second (copies=cores)")
    assert [row.split()[3] for row in table[1:4]] == ["cc2.8xlarge", "c4.2xlarge", "m3.xlarge"]
    assert table[-1] == "events_per_second: cc2.8xlarge comes first"


def test_the_knee_is_a_sentence_and_what_is_not_derived_is_said_last(uploads):
    found = lines(uploads)
    knee = at(found, "Knee of throughput over streams")
    assert len(knee) == 2
    assert all("no gain beyond streams=4" in line for line in knee)
    rows = at(found, "Failure rate")
    assert "3 of 120  2.50 % [0.52, 7.13]" in rows[1]
    assert found[-1] == "not derived  efficiency loss: no parameter of the run sets the number of copies"


def test_too_few_trials_are_said_in_the_intervals_place(build, plans):
    table = at(
        lines(build(**plans.gensim(repetitions=3))), "Efficiency loss of events_per_second over copies"
    )
    assert "% [–]" in table[2]
    assert "[–] no interval, n=3 against n=3; at least 6 each are needed" in table


def test_many_rows_are_cut_short(build, plans):
    record = build(
        **plans.streams(parameters={"streams": [1], "x": list(range(45))}, repetitions=2, design={})
    )
    assert "… and 5 more rows" in lines(record)


@pytest.mark.parametrize("name", ["machines", "uploads"])
def test_json_has_everything_that_was_derived(name, request, tmp_path):
    record = request.getfixturevalue(name)
    content = json.loads(FORMS["json"].write(Findings(record), tmp_path / "a.json").read_text())["derived"]
    derived = derive(record, summarise_run(record))
    assert [one["kind"] for one in content["findings"]] == [type(one).__name__ for one in derived.results]
    assert content["not_derived"] == list(derived.notes)
    first = content["findings"][0]["curves"][0]
    if name == "machines":
        assert first["points"][1]["cell"] == {"machine": 0, "copies": "cores"}
        assert first["points"][1]["efficiency"]["interval"]["method"] == "bootstrap"
    else:
        assert (first["knee"]["first"], first["knee"]["last"]) == (2, 2)


def test_tables_say_how_many_copies_ran_where(machines, build, tmp_path):
    def columns(record):
        with FORMS["csv"].write(Findings(record), tmp_path / "a.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    (row, *_) = [row for row in columns(machines) if row["cell"] == "machine=1 copies=cores"]
    assert (row["total_copies"], row["hosts"], row["copies"]) == ("8", "h1", "cores")
    assert "total_copies" not in columns(build())[0]
