"""`steelyard compare RUN --with published:ID`, on runs whose truth is known."""

from __future__ import annotations

import pytest

WITH = "published:fermilab-2015/table-1"


@pytest.fixture
def gensim(steelyard, plans, tmp_path):
    return plans.build(tmp_path / "store", **plans.gensim())


def test_losses_and_orders_stand_side_by_side(steelyard, gensim):
    said = steelyard("compare", "last", "--with", WITH)
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0] == f"run   {gensim.id}"
    (row,) = [line for line in lines if line.startswith("efficiency loss of m3.xlarge, 4 copies")]
    assert "47.5 %" in row
    assert row.endswith("inside")
    assert any("Spearman's rho 1.00 (p = 0.33)" in line and line.endswith("open") for line in lines)
    assert "Only shapes are compared, never absolute values. Not compared:" in lines
    assert lines[-1].startswith("- rates: ")
    assert "0.0557" not in said.out


def test_machines_get_numbers(steelyard, gensim):
    found = steelyard("compare", gensim.id, "--with", WITH, "--json").document
    assert found["published"]["id"] == "fermilab-2015/table-1"
    assert [one["kind"] for one in found["shapes"]] == ["efficiency_loss"] * 3 + ["order"]
    assert found["shapes"][0]["low"] == 0.475
    assert found["shapes"][3]["order"]["rho"] == 1


def test_the_derived_lines_are_shown(steelyard, gensim):
    said = steelyard("show", "last")
    for word in ("rate per core", "total", "efficiency loss [95 %]", "Ranking of machine"):
        assert word in said.out
    assert steelyard("show", "last", "--json").document["derived"]["findings"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("last", "--with", "published:fermilab-2015/tabel-1"), "did you mean 'fermilab-2015/table-1'"),
        (("last", "--with", "fermilab-2015/table-1"), "the name must begin with 'published:'"),
        (("last", "last", "--with", WITH), "leave out the second run"),
        (("last", "--with", WITH, "--fail-on", "worse"), "leave out --fail-on"),
        (("last",), "nothing to compare this run with"),
    ],
)
def test_mistakes_say_what_to_do(steelyard, gensim, words, message):
    said = steelyard("compare", *words)
    assert said.code == 2
    assert message in said.err
