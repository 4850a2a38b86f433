"""A against B in one file: a comparison of a run's own levels, on the terminal and in every export."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

FILE = """\
experiment: ab
parameters: {build: [old, new], size: [1, 2]}
workload:
  use: command
  script: "[ $build = new ] && took=NEW || took=100; echo took: $((size * took))"
  metrics: {took: {regex: 'took: (.*)', unit: ms, better: lower}}
compare: ASKED
repeat: 6
disturbed: include
"""
GATED = "{parameter: build, fail_on: worse, margin: 5%}"


@pytest.fixture
def ab(steelyard):
    """Run the file; what `new` takes, in a program that always takes the same."""

    def call(new, asked=GATED, *words):
        Path("ab.yaml").write_text(FILE.replace("NEW", str(new)).replace("ASKED", asked))
        return steelyard("run", "-q", "ab.yaml", *words)

    return call


def test_a_slower_build_fails_the_run_and_is_said_last(ab, steelyard):
    said = ab(120)
    assert said.code == 1
    tail = said.out[said.out.index("a  build=old   (the baseline)") :]
    assert "build=new size=1  6 pairs  100 ms  120 ms  +20.0 % [+20.0, +20.0]  worse" in tail
    assert "does not pass, for 2 reasons:\n  worse  build=new size=1: took: the change is" in tail
    assert steelyard("show", "last").out.count("worse") == said.out.count("worse")
    assert steelyard("resume", "last", "-q").code == 1
    assert steelyard("extend", "last", "-q", "-p", "size=3").code == 1
    assert "build=new size=3  6 pairs" in steelyard("show", "last").out


def test_the_same_build_passes(ab):
    said = ab(100)
    assert said.code == 0
    assert "no detectable difference" in said.out
    assert "The comparison passes with a margin of 5 %." in said.out
    assert ab(102).code == 0, "within the margin"
    assert ab(120, "build").code == 0, "without fail_on nothing fails"


def test_levels_may_be_given_for_a_run(ab, steelyard):
    assert ab(120, GATED, "-p", "build=old,copy").code == 0
    assert "build=copy" in steelyard("show", "last").out
    said = steelyard("run", "ab.yaml", "-p", "bild=a,b")
    assert (said.code, "unknown parameter 'bild'; did you mean 'build'" in said.err) == (2, True)
    assert steelyard("run", "-p", "build=a,b", "--", "true").code == 2


def test_a_finished_run_is_compared_by_any_parameter(ab, steelyard):
    ab(120)
    said = steelyard("compare", "last", "--by", "size", "--baseline", "2")
    assert said.code == 0, "the gate of the file is for another parameter"
    assert "build=new size=1  6 pairs  240 ms  120 ms  -50.0 % [-50.0, -50.0]  better" in said.out
    assert steelyard("compare", "last").code == 1, "the file's own comparison with its own gate"
    assert steelyard("compare", "last", "--baseline", "new").code == 0
    assert steelyard("compare", "last", "--by", "build", "--fail-on", "worse", "--margin", "30%").code == 0
    for words, told in (
        (("--by", "bild"), "unknown parameter 'bild'; did you mean 'build'"),
        (("--baseline", "odl"), "unknown level of 'build' 'odl'; did you mean 'old'"),
        (("--metric", "tok"), "unknown metric 'tok'"),
        (("--across",), "--across applies only to several runs"),
        (("-o", "x"), "add --as"),
        (("last", "--by", "build"), "leave out AFTER"),
    ):
        said = steelyard("compare", "last", *words)
        assert (said.code, told in said.err) == (2, True), said.err
    steelyard("run", "-q", "--", "true")
    assert "nothing to compare this run with" in steelyard("compare", "last").err


def test_every_form_has_the_figures(ab, steelyard):
    ab(120)
    files = {form: f"ab.{form}" for form in ("html", "markdown", "junit", "json")}
    for form, file in files.items():
        said = steelyard("compare", "last", "--as", form, "-o", file)
        assert (said.code, said.out.splitlines()[-1]) == (1, file)
    for form in ("html", "markdown"):
        text = Path(files[form]).read_text()
        assert "took against build=old: build=new size=1 +20.0 %" in text
        assert "The comparison does not pass with a margin of 5 %: 2 reasons." in text
        assert "6 pairs" in text
    assert "<script" not in Path("ab.html").read_text()
    suite = ElementTree.parse("ab.junit").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    assert all(float(case.get("time")) > 0 for case in suite.iter("testcase"))
    document = json.loads(Path("ab.json").read_text())
    assert (document["passes"], document["parameter"]) == (False, "build")
    assert [one["kind"] for one in document["objections"]] == ["worse", "worse"]
    assert [one["ratio"] for one in document["compared"]] == pytest.approx([1.2, 1.2])


def test_the_exports_and_the_report_of_a_run_have_its_comparison(ab, steelyard):
    ab(120)
    assert steelyard("show", "last", "--json").document["comparison"]["worst"] == "worse"
    steelyard("export", "last", "--as", "junit", "-o", "run.xml")
    suite = ElementTree.parse("run.xml").getroot()[0]
    names = [(case.get("classname"), case.get("name")) for case in suite.iter("testcase")]
    assert names == [
        ("ab.cell", "build=old size=1"),
        ("ab.cell", "build=old size=2"),
        ("ab.cell", "build=new size=1"),
        ("ab.cell", "build=new size=2"),
        ("ab.comparison", "took [build=new size=1 against build=old]"),
        ("ab.comparison", "took [build=new size=2 against build=old]"),
    ]
    assert "took: 120 ms [120, 120]" in suite[2].find("system-out").text
    assert "n=6 pairs: 100 ms -> 120 ms, +20.0 % [+20.0, +20.0]: worse" in suite[4].find("system-out").text
    steelyard("report", "last", "--as", "markdown", "-o", "run.md")
    text = Path("run.md").read_text()
    assert (
        text.index("**took against build=old: build=new size=1 ")
        < text.index("## Comparison")
        < text.index("## Results")
    )


def test_a_requirement_against_other_cells(steelyard):
    text = FILE.replace("compare: ASKED", "require: [{that: took.median <= 105%, where: WHERE}]")
    text = text.replace("WHERE", "build == 'new', against: build == 'old'")
    for new, code, told in ((120, 1, "not met in 2 of 2 cells"), (102, 0, "met in 2 of 2 cells")):
        Path("ab.yaml").write_text(text.replace("NEW", str(new)))
        said = steelyard("run", "-q", "ab.yaml")
        assert said.code == code
        line = "require  took.median <= 105% where build == 'new' against build == 'old'  "
        assert line + told in said.out
    steelyard("export", "last", "--as", "junit", "-o", "run.xml")
    case = ElementTree.parse("run.xml").getroot()[0][4]
    assert case.get("name") == "took.median <= 105% [build=new size=1 against build == 'old']"
    assert case.find("system-out").text == "met; 102 % [102, 102]; 6 pairs"
    assert "against" in Path(steelyard("report", "last", "--as", "markdown").out.strip()).read_text()
