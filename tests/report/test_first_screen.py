"""What a reader sees without scrolling: the answer and its picture, for five kinds of runs on two screens."""

from __future__ import annotations

import json
import shutil

import pytest

from steelyard.analysis.findings import Findings
from steelyard.model.keys.find import SearchBounds, SearchGoal
from steelyard.model.keys.requirement import Requirement
from steelyard.model.metric import Metric
from steelyard.report import html

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
RATE = Metric("rate", "1/s", "higher", "requests served")
LATENCY = Metric("latency", "s", "lower", "of a request")
COMPARE = {
    "parameter": "build",
    "baseline": "old",
    "metrics": [],
    "fail_on": "worse",
    "margin": "5%",
    "allow": [],
}
LEVELS = (1000, 2000, 4000, 8000, 5660, 4760, 5190, 5420)


def sweep(build):
    return build(
        parameters={"size": [1, 2, 4, 8], "kind": ["redis", "memcached"]},
        metrics=[RATE, LATENCY],
        figures=lambda cell, _, rng: {
            "rate": cell.parameters["size"] * rng.gauss(100, 1),
            "latency": rng.gauss(1, 0.01),
        },
        require=["rate > 10/s"],
    )


def search(build):
    sought = SearchGoal(
        "rate", Requirement.parse("latency <= 20 ms"), SearchBounds(1000, 64000, 0.05, True, "maximize")
    )
    return build(
        parameters={"rate": LEVELS},
        metrics=[LATENCY],
        figures=lambda cell, _, rng: {"latency": 0.02 * cell.parameters["rate"] / 5300 * rng.gauss(1, 0.001)},
        design={"find": sought.record()},
    )


def timeline(build):
    record = build(
        parameters={"a": [1]},
        metrics=[LATENCY, RATE],
        figures=lambda cell, _, rng: {"latency": rng.gauss(1, 0.1), "rate": rng.gauss(100, 1)},
    )
    for trial in range(1, 7):
        folder = record.folder.phase(trial, "load-0", "run")
        folder.mkdir(parents=True)
        lines = (
            {"at": 1000.0 + n, "length": 1.0, "values": {"rate": n, "latency": 1 / n}} for n in range(1, 9)
        )
        (folder / "samples.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
        event = {"trial": trial, "entry": 0, "event": "kill", "began": 1.5, "asked": 1.5}
        record.journal.append({"kind": "event-began", "mono": 50.5, "wall": 1001.5, "options": {}, **event})
        record.journal.append({"kind": "event-ended", "mono": 52.0, "wall": 1003.0, **event})
    return record


def builds(build):
    return build(
        parameters={"build": ["old", "new"]},
        metrics=[Metric("wall", "s", "lower", "elapsed time")],
        figures=lambda cell, _, rng: {"wall": rng.gauss(1, 0.01) * (1.2 if "new" in cell.key else 1)},
        design={"compare": COMPARE},
    )


def failures(build):
    return build(
        parameters={"way": ["fine", "crash", "hang"]},
        metrics=[RATE],
        figures=lambda cell, _, rng: {"rate": rng.gauss(100, 1)},
        failures={
            (f"way={way}", n): (kind, "it said: boom")
            for way, kind in (("crash", "crashed"), ("hang", "timed-out"))
            for n in range(1, 7)
        },
        require=["rate > 10/s"],
    )


KINDS = {
    sweep: ("rate: best", "against"),
    search: ("highest rate while latency <= 20 ms: between 5190", "derived-0"),
    timeline: ("latency: ", "over0"),
    builds: ("wall: build=new is worse than build=old, by +", "against"),
    failures: ("rate: ", "against"),
}


@pytest.mark.parametrize(("width", "height"), [(1200, 800), (390, 844)])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_answer_and_the_picture_are_on_the_first_screen(browser, build, tmp_path, kind, width, height):
    answer, figure = KINDS[kind]
    browser.open(html.write(Findings(kind(build)), tmp_path / "report.html"), width=width, height=height)
    assert browser.evaluate("document.querySelector('.answer').textContent").startswith(answer)
    ends = browser.evaluate(
        f"['.answer', '#short #{figure} svg'].map("
        "(place) => document.querySelector(place).getBoundingClientRect().bottom)"
    )
    assert max(ends) <= height, ends
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert not browser.errors


def test_what_failed_is_said_with_the_answer(browser, build, tmp_path):
    browser.open(html.write(Findings(failures(build)), tmp_path / "report.html"))
    text = browser.evaluate("document.querySelector('.failures').textContent")
    assert text == "12 of 18 trials failed: 6 crashed, 6 timed-out; in way=crash, way=hang."


def test_an_outage_shows_the_latency_of_its_headline(browser, build, tmp_path):
    browser.open(html.write(Findings(timeline(build)), tmp_path / "report.html"))
    assert browser.evaluate("document.querySelector('#short #over0 svg').ariaLabel") == "Latency"
    assert browser.evaluate("document.querySelectorAll('#series #over1 svg').length") == 1


def test_what_is_folded_opens_by_its_link(browser, rich_report):
    browser.open(rich_report)
    assert not browser.evaluate("document.querySelector('#method > details').open")
    browser.evaluate("document.querySelector('nav a[href=\"#method\"]').click()")
    browser.wait("document.querySelector('#method > details').open")
