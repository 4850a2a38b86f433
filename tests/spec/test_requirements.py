"""What a requirement's id means, and which ids are near it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from steelyard.errors import UnknownName
from steelyard.spec.requirements import find_need, nearest_ids, published_needs

SHARED = Path(__file__).parents[3] / "shared" / "requirements.csv"


def test_every_requirement_has_a_meaning_and_a_source():
    needs = published_needs()
    assert len(needs) > 250
    assert all(need.meaning.endswith(".") and len(need.meaning) > 10 for need in needs.values())
    assert {need.document for need in needs.values()} == {
        *("fermilab-2015", "mikelangelo-2016", "bigstorage-2017", "c4s-2018", "xtreemos-2010")
    }
    assert needs["SKA4"].source == "BigStorage, deliverable D1.2 (2017)"


def test_all_that_are_known_to_the_project_are_there():
    if not SHARED.exists():
        pytest.skip("the shared list of published results is not beside this clone")
    with SHARED.open(newline="") as lines:
        theirs = {row["id"]: row["text"] for row in csv.DictReader(lines)}
    needs = published_needs()
    assert list(theirs) == list(needs)
    assert not [name for name, need in needs.items() if need.meaning == theirs[name]], "our own words"


def test_an_id_that_nobody_knows_is_refused_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'CLM1'"):
        find_need("CML1")
    assert find_need("MINE7", covered=["MINE7"]) is None


def test_near_are_ids_of_the_same_series_and_then_of_the_document():
    covered = {"SKA1", "SKA4", "SKA9", "SCT5", "MIK.4"}
    assert nearest_ids("SKA3", covered) == ["SKA4", "SKA1", "SKA9"]
    assert nearest_ids("CLM4", covered, 1) == ["SKA4"]
    assert nearest_ids("MINE7", covered) == []
