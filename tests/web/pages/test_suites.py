"""Suites in a browser: what each came to, what has not begun, and going on with one."""

from __future__ import annotations

import json
import re

import pytest

from asgi import Client
from patience import until
from steelyard.store.layout import Store
from steelyard.store.suites import create_suite
from steelyard.suites.progress import read_progress
from steelyard.web.access.gate import Access
from steelyard.web.app import make_app
from steelyard.web.starting.starter import RunStarter

HOSTILE = "<img src=x>\x1b[31m"
SUITE = "suite: nightly\nexperiments: [synthetic.yaml, other.yaml]\n"
OTHER = "experiment: other\nworkload: {use: command, run: ['true']}\nrepeat: 6\n"


@pytest.fixture
def record(build, plans):
    return build(**plans.watched())


@pytest.fixture
def store(record):
    return Store(record.folder.path.parents[1])


@pytest.fixture
def suite(record, store, tmp_path):
    """One of two experiments: one has a run, the other could not begin."""
    folder = create_suite(store, "nightly", SUITE, tmp_path)
    units = [{"name": name, "file": f"{name}.yaml"} for name in ("synthetic", "other")]
    tested = {"failover": f"needs {HOSTILE}"}
    folder.add_line(kind="plan", suite="nightly", about="It", budget=60, not_tested=tested, units=units)
    folder.add_line(kind="run", unit="synthetic", run=record.id)
    folder.add_line(kind="ended", unit="synthetic", seconds=3.0, failure="")
    folder.add_line(kind="ended", unit="other", seconds=1.0, failure=f"no host {HOSTILE}")
    return folder


def test_the_list_names_them_the_newest_first(client_of, record, store, suite, tmp_path):
    newer = create_suite(store, "newer", SUITE, tmp_path)
    client = client_of(record)
    listed = json.loads(client.ask("/suites?as=json").text)
    assert [one["id"] for one in listed["suites"]] == [newer.id, suite.id]
    assert listed["suites"][1]["told"] == read_progress(suite, store).describe()
    page = client.ask("/suites").text
    assert f'href="suites/{suite.id}"' in page
    assert ">nightly</a>" in page


def test_a_suite_tells_what_each_experiment_came_to(client_of, record, suite):
    client = client_of(record)
    page = client.ask(f"/suites/{suite.id}")
    assert page.status == 200
    assert f'href="../runs/{record.id}"' in page.text
    assert "no host &lt;img src=x&gt;" in page.text
    assert "needs &lt;img" in page.text
    assert "<img" not in page.text
    facts = json.loads(client.ask(f"/suites/{suite.id}?as=json").text)
    assert [unit["name"] for unit in facts["progress"]["units"]] == ["synthetic", "other"]
    assert facts["summary"]["units"][1]["outcome"] == "failed"
    assert facts["summary"]["answer"] in page.text


def test_nothing_is_judged_while_a_run_measures(client_of, record, suite, monkeypatch):
    client = client_of(record)
    monkeypatch.setattr("steelyard.web.quiet.find_measuring_run", lambda: "run x measures")
    facts = json.loads(client.ask(f"/suites/{suite.id}?as=json").text)
    assert facts["summary"] is None
    assert "of 2 experiments done" in facts["progress"]["told"]
    page = client.ask(f"/suites/{suite.id}").text
    assert "run x measures" in page
    assert "now=1" in page
    assert json.loads(client.ask(f"/suites/{suite.id}?as=json&now=1").text)["summary"]


def test_one_under_way_is_running_and_offers_no_resume(client_of, record, suite):
    client = client_of(record)
    assert ">Resume</button>" in client.ask(f"/suites/{suite.id}").text
    with suite.lock():
        page = client.ask(f"/suites/{suite.id}").text
    assert '<span class="state running">' in page
    assert ">Resume</button>" not in page


def test_no_such_suite(client_of, record):
    answer = client_of(record).ask("/suites/nothing")
    assert answer.status == 404
    assert "nothing" in answer.text


def test_it_is_resumed_as_a_command_of_its_own(store, tmp_path, tokens):
    (tmp_path / "other.yaml").write_text(OTHER)
    text = "suite: nightly\nexperiments: [other.yaml]\n"
    folder = create_suite(store, "nightly", text, tmp_path)
    folder.add_line(kind="plan", suite="nightly", units=[{"name": "other", "file": "other.yaml"}])
    cookie = f"steelyard-8484={tokens.make_cookie('act')}"
    with RunStarter(store) as starter:
        app = make_app(store, Access(tokens), starter)
        client = Client(app, {"cookie": cookie, "sec-fetch-site": "same-origin"})
        answer = client.ask(f"/suites/{folder.id}/resume", method="POST")
        assert answer.status == 303
        key = re.fullmatch(r"../../starts/(\S+)", answer.headers["location"])[1]
        assert until(lambda: read_progress(folder, store).state == "complete"), starter.read(key).output
        assert until(folder.summary.is_file)
