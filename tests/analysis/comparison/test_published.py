"""The published results that ship: that they are whole and say what their source says."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from steelyard.analysis.comparison.published import load_published, published_ids
from steelyard.errors import UnknownName

SHARED = Path(__file__).parents[4] / "shared" / "published.csv"
FERMILAB = [
    *(f"fermilab-2015/figure-{number}" for number in range(1, 8)),
    "fermilab-2015/table-1",
    "fermilab-2015/table-2",
]
TABLES = ("fermilab-2015/table-1", "fermilab-2015/table-2")


def test_all_nine_of_fermilab_are_there():
    assert [name for name in published_ids() if name.startswith("fermilab-2015/")] == FERMILAB


@pytest.mark.parametrize("name", published_ids())
def test_each_can_be_read_and_says_where_it_is_from(name):
    found = load_published(f"published:{name}")
    assert found.id == name
    assert re.search(r", 20\d\d, \w", found.source)
    assert all(text.endswith(".") for text in (found.shows, found.measured, found.found))
    assert found.workload
    assert found.beyond
    assert found.shapes, "something of it can be compared with a run"
    assert all(len(row) == len(found.columns) for row in found.rows)
    for shape in found.shapes:
        assert shape.low <= shape.high


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_agree_with_themselves(name):
    """A digit that was misread would show here."""
    found = load_published(name)
    assert len(found.rows) == 15
    losses = next(shape for shape in found.shapes if shape.kind == "efficiency_loss")
    for machine, cores, _, each, total, alone, loss in found.rows:
        assert 1 - each / alone == pytest.approx(loss, abs=0.01), machine
        assert each * cores == pytest.approx(total, rel=0.01), machine
        assert losses.values[machine] == loss


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_are_those_of_the_shared_list(name):
    if not SHARED.exists():
        pytest.skip("the shared list of published results is not beside this clone")
    with SHARED.open(newline="") as file:
        line = next(row["numbers_given"] for row in csv.DictReader(file) if row["id"] == name)
    theirs = {
        machine: tuple(map(float, figures.split("/")))
        for machine, figures in (part.split("=") for part in line.split(";")[1:])
    }
    assert {row[0]: (row[3], row[4], row[5], row[6]) for row in load_published(name).rows} == theirs


def test_their_own_words_are_not_copied():
    if not SHARED.exists():
        pytest.skip("the shared list of published results is not beside this clone")
    with SHARED.open(newline="") as file:
        theirs = " ".join(" ".join(row.values()) for row in csv.DictReader(file))
    for name in published_ids():
        found = load_published(name)
        for text in (found.shows, found.found):
            assert text not in theirs


def test_an_unknown_one_says_what_there_is():
    with pytest.raises(UnknownName, match="did you mean 'fermilab-2015/table-1'"):
        load_published("published:fermilab-2015/tabel-1")
