"""A limit in the reports: its table, its sentence, its chart, and the export."""

from __future__ import annotations

import json
import random
import shutil

import pytest

from steelyard.analysis.derived import derive
from steelyard.analysis.findings import Findings
from steelyard.analysis.summary import summarise_run
from steelyard.model.keys.find import SearchBounds, SearchGoal
from steelyard.model.keys.requirement import Requirement
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.report import html, markdown
from steelyard.report.derived_lines import derived_lines, sections
from steelyard.report.export import write_csv, write_json
from steelyard.report.page import build_page

WAY = (1000, 2000, 4000, 8000, 5660, 4760, 5190, 5420)
"""The levels of a search whose limit is 5300."""
SENTENCE = "highest rate while latency <= 20 ms: between 5190, which holds, and 5420, which does not"


needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")


def figures(cell: Cell, repetition: int, rng: random.Random) -> dict[str, float]:
    return {"latency": 0.02 * float(str(cell.parameters["rate"])) / 5300 * rng.lognormvariate(0, 0.001)}


@pytest.fixture
def search(build):
    """A run that searched; `more` as in `Plan`."""

    def make(**more):
        bounds = SearchBounds(1000, 64000, 0.05, True, "maximize")
        sought = SearchGoal("rate", Requirement.parse("latency <= 20 ms"), bounds)
        return build(
            **{
                "parameters": {"rate": WAY},
                "metrics": [Metric("latency", "s", "lower", "of a request")],
                "figures": figures,
                "design": {"find": sought.record()},
                **more,
            }
        )

    return make


def test_the_section_has_every_level_and_the_answer(search):
    (section,) = build_page(Findings(search())).derived
    assert section.heading == "Limit of rate: maximize while latency <= 20 ms"
    assert section.sentences == [SENTENCE]
    assert section.head == ("rate", "verdict", "n", "figure [95 %]")
    verdicts = {row[0]: row[1] for row in section.rows}
    assert verdicts == {
        **dict.fromkeys(("1000", "2000", "4000", "4760"), "met"),
        "5190": "met (limit)",
        "5420": "not met (next)",
        **dict.fromkeys(("5660", "8000"), "not met"),
    }
    assert all(row[2] == "6" and row[3].startswith(("3.", "7.", "1", "2", "3")) for row in section.rows)


def test_it_is_the_answer(search):
    content = build_page(Findings(search()))
    assert content.outcome.answer == f"{SENTENCE}."
    assert content.gallery.headline_key == "derived/0"


def test_the_terminal_says_it(search):
    record = search()
    derived = derive(record, summarise_run(record))
    lines = derived_lines(sections(derived), derived.notes)
    assert SENTENCE in lines


def test_failures_are_told(search):
    failures = {
        (f"rate={level}", n): ("timed-out", "too slow") for level in (5420, 8000) for n in range(1, 7)
    }
    record = search(failures=failures, marks={("rate=1000", 2): ("disturbed", "somebody")})
    found = derive(record, summarise_run(record)).results
    assert found[0].limits[0].kind == "unfinished", "one of six does not count, so a seventh is due"
    (section, *_) = build_page(Findings(record)).derived
    rows = {row[0]: row for row in section.rows}
    assert rows["5420"][2:] == ("6, 6 failed", "failed")
    assert section.notes == ["rate=1000: 1 trial not counted, marked or failed otherwise"]
    assert "rate" in markdown.render_svg(build_page(Findings(record)).gallery.charts["derived/0"])


def test_the_chart_shows_verdicts_and_the_bound(search):
    chart = build_page(Findings(search())).gallery.charts["derived/0"]
    names = [layer["name"] for layer in chart.wide["layer"]]
    assert names == [
        "bound", "searches", "intervals_good", "levels_good", "intervals_bad", "levels_bad",
    ]  # fmt: skip
    assert chart.wide["layer"][1]["encoding"]["x"]["scale"]["type"] == "log"
    assert [row["middle"] for row in chart.data["bound0"]] == [20.0]
    picture = markdown.render_svg(chart)
    assert picture.startswith("<svg")
    assert "latency against rate" in picture


def test_html_and_markdown_have_it(search, tmp_path):
    record = search()
    text = html.write(Findings(record), tmp_path / "report.html").read_text()
    assert SENTENCE.replace("<", "&lt;") in text
    assert 'data-chart="derived/0"' in text
    assert (tmp_path / "report.md").parent == tmp_path
    text = markdown.write(Findings(record), tmp_path / "report.md").read_text()
    assert "between 5190, which holds, and 5420, which does not" in text
    assert "derived-0.svg" in text


def test_the_exports_have_it(search, tmp_path):
    failures = {("rate=8000", n): ("crashed", "no more") for n in range(1, 7)}
    record = search(failures=failures)
    content = json.loads(write_json(Findings(record), tmp_path / "run.json").read_text())
    (finding,) = content["derived"]["findings"]
    assert finding["kind"] == "LimitStudy"
    (limit,) = finding["limits"]
    assert limit["kind"] == "bracket"
    assert (limit["holds"]["place"], limit["fails"]["place"]) == (5190, 5420)
    assert (limit["levels"][-1]["failed"], limit["levels"][-1]["value"]) == (6, None)
    rows = write_csv(record, tmp_path / "run.csv").read_text().splitlines()
    assert rows[0].endswith("rate")
    assert len(rows) == 1 + 8 * 6


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(390, False), (1200, True)])
def test_a_browser_draws_it(browser, search, tmp_path, width, dark):
    path = html.write(Findings(search()), tmp_path / "a.html")
    browser.open(path, width=width, height=844, dark=dark)
    counts = {
        name: browser.evaluate(
            f"document.querySelectorAll('#derived-0 g.{name}_marks > :is(path, line)').length"
        )
        for name in ("levels_good", "levels_bad", "intervals_good", "bound")
    }
    assert counts == {"levels_good": 5, "levels_bad": 3, "intervals_good": 5, "bound": 1}
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.errors == []


@needs_chromium
def test_a_stranger_can_add_nothing(browser, search, tmp_path):
    bad = "</script><img src=x onerror=window.pwned=1>`${1}`|\x00"
    sought = SearchGoal(
        f"r{bad}", Requirement.parse("latency <= 20 ms"), SearchBounds(1000, 64000, 0.05, True, "maximize")
    )
    record = search(
        parameters={f"r{bad}": WAY, "b": [bad, "plain"]},
        figures=lambda cell, repetition, rng: figures(
            Cell({"rate": cell.parameters[f"r{bad}"]}), repetition, rng
        ),
        design={"find": sought.record()},
    )
    browser.open(html.write(Findings(record), tmp_path / "a.html"))
    assert browser.evaluate("document.querySelectorAll('#derived-0 g.levels_good_marks > path').length") == 10
    assert browser.evaluate("window.pwned === undefined && !document.querySelector('img')")
    assert browser.errors == []
    text = markdown.write(Findings(record), tmp_path / "a.md").read_text()
    assert "<img" not in text.split("## Derived")[1].split("```")[0]
