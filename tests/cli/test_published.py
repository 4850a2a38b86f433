"""`steelyard published`: what is listed, what is left out, and how a run in the store stands."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from steelyard.analysis.comparison.published import published_ids
from steelyard.analysis.comparison.published_list import list_results

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "published.csv"


def test_all_results_are_listed_with_their_documents(steelyard):
    said = steelyard("published")
    assert said.code == 0
    assert "XtreemOS, Evaluation Report, deliverable D4.2.7 (2010)" in said.out
    assert "steelyard run examples/published/fermilab-2015/table-1.yaml" in said.out
    assert said.out.splitlines()[-1] == "136 results; an experiment regenerates 61 of them"


def test_what_is_listed_can_be_chosen(steelyard):
    few = steelyard("published", "--document", "xtreemos-2010", "--section", "4.9", "--json").document
    assert {one["section"] for one in few} == {"4.9"}
    assert "xtreemos-2010/figure-4.40" in [one["id"] for one in few]
    own = steelyard("published", "--with-experiment", "--json").document
    assert all(one["experiment"] for one in own)
    assert len(own) == 61


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--document", "xtremos-2010"), "unknown document 'xtremos-2010'; did you mean 'xtreemos-2010'?"),
        (("--document", "c4s-2018", "--section", "7"), "there are: 6"),
    ],
)
def test_mistakes_say_what_to_do(steelyard, words, message):
    said = steelyard("published", *words)
    assert said.code == 2
    assert message in said.err


def test_a_run_in_the_store_is_compared(steelyard, plans, tmp_path):
    tag = {"tags": {"published": "fermilab-2015/table-1"}}
    plan = plans.gensim()
    record = plans.build(tmp_path / "store", **{**plan, "design": {**plan.get("design", {}), **tag}})
    said = steelyard("published", "--document", "fermilab-2015")
    assert re.search(rf"run {record.id}: .*inside", said.out)


def test_the_experiments_are_those_of_the_repository():
    listed = {one.id: one.experiment for one in list_results() if one.experiment}
    for name, path in listed.items():
        assert name in tagged_results(ROOT / path)
    assert set(listed) == {name for path in ROOT.glob("examples/**/*.yaml") for name in tagged_results(path)}


def tagged_results(path: Path) -> list[str]:
    """The results that an experiment says it regenerates."""
    tags = re.findall(r"published: ([^}]+)}", path.read_text())
    return [name for tag in tags for name in tag.split()]


def test_the_list_is_whole_and_in_our_words():
    assert set(published_ids()) <= {one.id for one in list_results()}
    if not SHARED.exists():
        pytest.skip("the shared list of published results is not beside this clone")
    with SHARED.open(newline="") as lines:
        theirs = {row["id"]: row["what_it_shows"] for row in csv.DictReader(lines)}
    assert [one.id for one in list_results()] == list(theirs)
    assert not [one.id for one in list_results() if one.shows == theirs[one.id]]
