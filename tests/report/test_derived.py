"""Derived results in the HTML and Markdown reports: what is there, and how it looks in a browser."""

from __future__ import annotations

import re
import shutil
from xml.etree import ElementTree

import pytest

from steelyard.analysis.findings import Findings
from steelyard.report import html, markdown
from steelyard.report.page import build_page

SVG = "{http://www.w3.org/2000/svg}"
needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def reports(machines, uploads, tmp_path_factory):
    folder = tmp_path_factory.mktemp("derived")
    return {
        name: html.write(Findings(record), folder / f"{name}.html")
        for name, record in (("machines", machines), ("uploads", uploads))
    }


def marks(browser, figure, name):
    return browser.evaluate(
        f"document.querySelectorAll('#derived-{figure} g.{name}_marks > :is(path, line)').length"
    )


def test_a_plain_run_has_no_such_section(build):
    content = build_page(Findings(build()))
    assert (content.derived, content.derivation_notes) == ([], ())
    text = html.render(content)
    assert 'id="derived"' not in text
    assert "#derived" not in text


def test_every_finding_has_its_heading_and_its_chart(machines, uploads):
    content = build_page(Findings(machines))
    assert [part.heading for part in content.derived] == [
        "Efficiency loss of events_per_second over copies",
        "Cost of events_per_second",
        "Ranking of machine by events_per_second (copies=1)",
        "Ranking of machine by events_per_second (copies=cores)",
    ]
    drawn = [key for key in content.gallery.charts if key.startswith("derived/")]
    assert drawn == [f"derived/{n}" for n in range(4)]
    assert build_page(Findings(uploads)).derivation_notes == (
        "efficiency loss: no parameter of the run sets the number of copies",
    )


def test_the_result_in_short_says_what_was_derived(uploads):
    sentences = build_page(Findings(uploads)).outcome.sentences
    knees = [text for text in sentences if "no gain beyond streams=4" in text]
    assert len(knees) == 2
    assert all(text.endswith(".") for text in knees)


def test_the_reports_stay_small(reports):
    assert all(path.stat().st_size < 2_000_000 for path in reports.values())


def test_a_chart_of_a_part_says_so(build, plans):
    record = build(**plans.streams(parameters={"streams": [1, 2, 4], "x": list(range(30))}))
    content = build_page(Findings(record))
    assert content.gallery.charts["derived/0"].title == "throughput against streams, the first 24 of 30"
    failures = build_page(
        Findings(build(**plans.streams(parameters={"streams": [1, 2], "x": list(range(35))}, design={})))
    )
    assert failures.gallery.charts["derived/0"].title == "failure_rate, the first 60 of 70"


@needs_chromium
def test_losses_costs_and_ranks_are_drawn(browser, reports):
    browser.open(reports["machines"])
    assert [marks(browser, n, "estimates") for n in range(4)] == [3, 4, 3, 3]
    assert [marks(browser, n, "intervals") for n in range(4)] == [3, 4, 3, 3]
    assert browser.evaluate("document.querySelectorAll('#derived table').length") == 4
    assert "rate per core" in browser.evaluate(
        "document.querySelector('#derived th:nth-child(3)').textContent"
    )
    assert browser.errors == []
    assert browser.requests == [reports["machines"].as_uri()]


@needs_chromium
def test_knees_and_speed_ups_are_drawn_with_what_they_are_held_against(browser, reports):
    browser.open(reports["uploads"])
    assert (marks(browser, 0, "estimates"), marks(browser, 0, "intervals"), marks(browser, 0, "knees")) == (
        10,
        10,
        1,
    )
    assert marks(browser, 1, "estimates") == 10
    assert marks(browser, 2, "estimates") == 10
    assert browser.evaluate("document.querySelectorAll('#derived-2 g.ideal_marks path').length") == 1
    text = browser.evaluate("document.querySelector('#derived').textContent")
    assert "no gain beyond streams=4" in text
    assert "Not derived" in text
    assert browser.errors == []


@needs_chromium
@pytest.mark.parametrize("name", ["machines", "uploads"])
@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_wider_than_the_screen(browser, reports, name, width):
    browser.open(reports[name], width=width, height=844)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.errors == []


@needs_chromium
def test_dark_pages_are_drawn_too(browser, reports):
    browser.open(reports["uploads"], dark=True)
    assert marks(browser, 0, "estimates") == 10
    assert browser.errors == []


def test_markdown_says_the_same_with_pictures(machines, tmp_path):
    text = markdown.write(Findings(machines), tmp_path / "a.md").read_text()
    assert "## Derived results" in text
    assert "### Cost of events_per_second" in text
    pictures = re.findall(r"!\[.*?\]\(<(a-charts/derived-\d\.svg)>\)", text)
    assert pictures == [f"a-charts/derived-{n}.svg" for n in range(4)]
    for name in pictures:
        assert ElementTree.parse(tmp_path / name).getroot().tag == f"{SVG}svg"
    previous = ""
    for line in text.splitlines():
        if line.startswith("|") and previous.startswith("|"):
            assert line.count("|") == previous.count("|")
        previous = line


@pytest.fixture
def strange(build, plans):
    """A run in which a stranger wrote every name."""
    bad = "</script><img src=x onerror=window.pwned=1>`${1}`|\x00"
    asked = [
        {"ranking": {"of": f"m{bad}"}},
        {"cost": {}},
        {"speedup": {"over": f"m{bad}"}},
        {"knee": {"parameter": f"m{bad}"}},
        {"knee": {"parameter": bad}},
    ]
    prices = {"currency": bad, "per_hour": {f"t{n}{bad}": 1.0 for n in range(3)}, "source": bad}
    plan = plans.gensim(
        parameters={f"m{bad}": [0, 1, 2], f"c{bad}": ["one", bad]},
        copies=lambda cell: 1,
        figures=lambda cell, repetition, rng: {"events_per_second": rng.gauss(10, 1)},
        on=lambda cell: [f"h{next(iter(cell.parameters.values()))}{bad}"],
        environment={"hosts": [{"name": f"h{n}{bad}", "type": f"t{n}{bad}", "cores": 4} for n in range(3)]},
        design={"prices": prices, "derive": asked},
    )
    return build(**plan)


@needs_chromium
def test_a_stranger_can_add_nothing(browser, strange, tmp_path):
    browser.open(html.write(Findings(strange), tmp_path / "a.html"))
    drawn = browser.evaluate("document.querySelectorAll('#derived figure:not(.nothing) svg').length")
    charts = build_page(Findings(strange)).gallery.charts
    assert drawn == len([key for key in charts if key.startswith("derived/")]) > 2
    assert browser.evaluate("window.pwned === undefined && !document.querySelector('img')")
    assert browser.errors == []


def test_a_stranger_adds_no_tag_to_markdown(strange, tmp_path):
    text = markdown.write(Findings(strange), tmp_path / "a.md").read_text(encoding="utf-8")
    outside = re.sub(r"^(`{3,})\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "## Derived results" in outside
    assert "<img" not in outside
