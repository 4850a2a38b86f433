"""The HTML report as a file; how it looks and acts in a browser is in test_browser.py."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.findings import Findings
from steelyard.analysis.summary import summarise_run
from steelyard.errors import StoreError
from steelyard.model.metric import Metric
from steelyard.report import html
from steelyard.report.html import to_inline_json
from steelyard.report.markup import mark_code
from steelyard.report.numbers import show_interval

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class Outline(HTMLParser):
    """Tags with their attributes, scripts, and all text, as a browser's parser would see them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = self.style = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.cdata_elem == "script":
            self.scripts[-1] += data
        elif self.cdata_elem == "style":
            self.style += data
        elif self.cdata_elem is None:
            self.text += data

    @property
    def charts(self):
        return json.loads(self.scripts[0])

    def having(self, attribute):
        return [attributes for _, attributes in self.tags if attribute in attributes]


@pytest.fixture(scope="session")
def page(rich_report):
    return Outline(rich_report.read_text(encoding="utf-8"))


def outline(record, tmp_path):
    return Outline(html.write(Findings(record), tmp_path / "report.html").read_text(encoding="utf-8"))


def test_the_answer_comes_first_and_what_it_rests_on_last(page):
    sections = [attributes["id"] for tag, attributes in page.tags if tag == "section"]
    assert sections == [
        "short",
        "results",
        "needs",
        "latency",
        "hosts",
        "trouble",
        "plan",
        "place",
        "method",
        "files",
    ]
    links = [attributes["href"][1:] for tag, attributes in page.tags if tag == "a"]
    assert links == sections


def test_nothing_is_asked_of_the_network(page):
    assert not page.having("src")
    assert all(attributes["href"].startswith("#") for attributes in page.having("href"))
    assert not {tag for tag, _ in page.tags} & {"link", "img", "iframe", "object", "embed", "form", "base"}
    assert page.style
    assert "url(" not in page.style
    assert "@import" not in page.style


def test_the_policy_names_exactly_the_scripts_of_the_page(page):
    (policy,) = [attributes["content"] for attributes in page.having("http-equiv")]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in page.scripts[1:]
    ]
    assert rules["script-src"] == " ".join(f"'sha256-{digest}'" for digest in digests)
    assert "unsafe-eval" not in policy


def test_the_table_says_what_the_store_says(page, rich):
    for cell in summarise_run(rich).cells:
        for one in cell.metrics.values():
            if one.summary is None:
                continue
            for text in show_interval(one.summary.median, one.summary.interval, one.metric.unit):
                assert text in page.text


def test_every_trial_and_every_cell_is_in_the_data(page, rich):
    charts = page.charts
    spec = charts["charts"]["distribution/0"]
    trials, cells = (charts["tables"][name] for name in spec["uses"])
    assert len(trials["trial"]) == 47
    assert len(cells["median"]) == 6
    first = rich.trials[0].result.metrics["write_bandwidth"]
    assert f"(exactly {first!r} B/s)" in trials["value"][trials["trial"].index(1)]


def test_failed_and_disturbed_trials_show_reason_and_evidence(page, rich):
    text = page.text
    assert "fio ended with code 1; it said: boom" in text
    assert "failed: crashed" in text
    assert "foreign CPU load 0.35 cores (stress-ng)" in text
    failed = next(trial for trial in rich.trials if trial.result.status == "failed")
    path = f"trials/{failed.number}/host-0/command/stdout"
    assert path in text
    assert (rich.folder.path / path).is_file()


def test_the_verdict_counts_requirements(page, build, tmp_path):
    assert "Of 2 requirements: 1 met, 1 not met." in page.text
    plan = {
        "parameters": {"a": [1]},
        "metrics": [Metric("rate", "1/s", "higher")],
        "figures": lambda *_: {"rate": 5.0},
    }
    assert (
        "All 2 requirements are met."
        in outline(build(**plan, require=["rate > 1/s", "rate < 9/s"]), tmp_path).text
    )
    assert "The requirement is met." in outline(build(**plan, require=["rate > 1/s"]), tmp_path).text
    assert (
        "The requirement is undecided."
        in outline(build(**plan, require=["rate > 1/s"], repetitions=2), tmp_path).text
    )
    assert "requirement" not in outline(build(**plan), tmp_path).text.partition("Test setup")[0].lower()
    nothing = build(**plan, failures={("a=1", n): ("crashed", "") for n in range(1, 7)})
    text = outline(nothing, tmp_path).text
    assert "No trial produced a figure that counts." in text
    assert "6 of 6 trials failed: 6 crashed." in text


def test_the_machine_is_told_in_a_few_words(build, tmp_path):
    environment = {
        "cpu": {"model": "EPYC", "threads": 2},
        "memory": {"total": 2**34},
        "scratch": {"type": "ext4", "device": "/dev/vda", "free": 2**30},
        "advice": [
            {"severity": "bad", "what": "it is on tmpfs", "why": "Because.", "what_to_do": "Use `--scratch`."}
        ],
    }
    text = outline(build(environment=environment), tmp_path).text
    assert "EPYC, 2 threads, 16.0 GiB, ext4 on /dev/vda" in text
    assert "It is on tmpfs. Because. Use --scratch." in text
    assert "1.00 GiB" in text
    assert "not recorded" in outline(build(environment={}), tmp_path).text


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("interrupted", "The run was interrupted"),
        ("failed", "The run failed"),
        ("died", "The run died"),
    ],
)
def test_a_run_cut_short_says_so(build, tmp_path, state, sentence):
    assert sentence in outline(build(state=state), tmp_path).text


def test_a_stop_rule_and_few_trials_are_told(build, tmp_path):
    text = outline(build(repetitions=3, until={"metric": "write_bandwidth", "within": "5%"}), tmp_path).text
    assert "stopped at the required precision (sequential" in text
    assert "no 95 % interval, n=3" in text


def test_no_parameters_no_metrics_no_trials_are_reports_too(build, tmp_path):
    assert "distribution/0" in outline(build(parameters={}), tmp_path).charts["charts"]
    assert outline(build(metrics=[], figures=lambda *_: {}), tmp_path).charts["charts"] == {}
    assert "not measured" in outline(build(measured=lambda cell: False), tmp_path).text


def test_a_stranger_can_add_neither_tag_nor_script(hostile, build, tmp_path):
    page = outline(hostile, tmp_path)
    harmless = outline(build(environment={"cpu": {"model": "x"}}, title="harmless"), tmp_path)
    assert {tag for tag, _ in page.tags} <= {tag for tag, _ in harmless.tags} | {
        "code",
        "br",
        "select",
        "option",
        "label",
    }
    assert len(page.scripts) == 3
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert page.text.count("<img src=x onerror=window.pwned=1>") > 20
    assert "<img src=x" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_large_run_stays_a_small_file(build, tmp_path):
    record = build(
        parameters={"a": list(range(350))},
        metrics=[Metric(f"m{n}", "s", "lower") for n in range(9)],
        figures=lambda cell, repetition, rng: {f"m{n}": rng.random() for n in range(9)},
        repetitions=10,
    )
    page = outline(record, tmp_path)
    assert (tmp_path / "report.html").stat().st_size < 5_000_000
    assert "The 5 most important of 9 metrics have charts" in page.text
    assert "first 300 of 350 cells" in page.text
    assert len([tag for tag, _ in page.tags if tag == "tr"]) > 350


def test_a_damaged_record_is_one_clear_error(build, tmp_path):
    record = build()
    record.folder.design.write_text("{")
    with pytest.raises(StoreError, match="is damaged"):
        html.write(Findings(record), tmp_path / "report.html")
    assert not list(tmp_path.glob("*.html"))


def test_damaged_details_cost_only_themselves(build, tmp_path):
    record = build(
        parameters={"a": [1]},
        histograms=lambda *_: {"latency": {0.1: 3}},
        telemetry=lambda number: [{"m": 1.0, "cpu_user": 0.5}],
    )
    for number in range(1, 7):
        record.folder.telemetry(number, "host-0", "parquet").write_bytes(b"rubbish")
    (record.folder.trial(2) / "metrics.json").write_text("rubbish")
    (record.folder.trial(2) / "trial.json").write_text("rubbish")
    text = outline(record, tmp_path).text
    assert "The histograms of trials 2 cannot be read." in text
    assert re.search(r"Telemetry of trial \d cannot be read", text)


@given(data=JSON)
def test_inlined_data_is_the_same_and_ends_no_script(data):
    text = to_inline_json(data)
    assert json.loads(text) == data
    assert not set("<>&\u2028\u2029") & set(text)


@given(text=st.text())
def test_backticks_mean_code_and_nothing_means_a_tag(text):
    found = Outline(str(mark_code(text)))
    assert {tag for tag, _ in found.tags} <= {"code"}
    assert found.text.replace("\r", "\n") == text.replace("`", "").replace("\r", "\n")
