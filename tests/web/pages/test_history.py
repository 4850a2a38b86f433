"""The page of a history: plots, decisions, and what strangers wrote."""

from __future__ import annotations

import json

import pytest

from asgi import Client
from steelyard.store.decisions import read_decisions
from steelyard.store.layout import Store
from steelyard.web.access.gate import Access
from steelyard.web.app import make_app


@pytest.fixture
def runs(make_runs):
    return make_runs(20, shift_at=12)


@pytest.fixture
def client(client_of, runs):
    return client_of(runs.runs[0].record)


def test_experiments_are_listed(client):
    assert json.loads(client.ask("/history?as=json").text) == {"experiments": {"synthetic": 20}}
    assert 'href="history/synthetic"' in client.ask("/history").text


def test_a_change_is_drawn_named_and_offered_for_a_decision(client, runs):
    page = client.ask("/history/synthetic").text
    assert "write_bandwidth is worse in 1 of 2 cells" in page
    assert page.count("<figure") == 4
    assert page.count('class="change worse"') == 1
    assert page.count("<circle") == 4 * 20
    assert "<title>c12, " in page
    assert f'name="run" value="{runs.find_run("c12").id}"' in page


def test_metric_and_order_stand_in_the_url(client):
    page = client.ask("/history/synthetic?metric=write_latency_p99&by=commit").text
    assert page.count("<figure") == 2
    assert "in the order of commit" in page
    assert client.ask("/history/synthetic?metric=nothing").status == 404
    assert client.ask("/history/nothing").status == 404


def test_programs_get_the_figures(client):
    document = json.loads(client.ask("/history/synthetic?as=json").text)
    assert document["alarms"] == 1


def test_it_waits_while_something_measures(client, monkeypatch):
    monkeypatch.setattr("steelyard.web.quiet.find_measuring_run", lambda: "run x measures")
    page = client.ask("/history/synthetic").text
    assert "run x measures" in page
    assert "<figure" not in page
    assert "<figure" in client.ask("/history/synthetic?now=1").text


def post(client, body: str, **headers: str):
    return client.ask("/history/synthetic/decisions", method="POST", body=body, **headers)


@pytest.fixture
def browser(runs, tmp_path, tokens):
    app = make_app(Store(tmp_path), Access(tokens))
    cookie = f"steelyard-8484={tokens.make_cookie('act')}"
    return Client(app, headers={"cookie": cookie, "sec-fetch-site": "same-origin"})


def test_a_decision_is_kept_and_can_be_taken_back(browser, runs, tmp_path):
    run = runs.find_run("c12").id
    answer = post(browser, f"run={run}&verdict=expected&why=%3Cb%3Echecksums")
    assert (answer.status, answer.headers["location"]) == (303, "../synthetic")
    page = browser.ask("/history/synthetic?now=1").text
    assert "Nothing is worse than it was." in page
    assert "&lt;b&gt;checksums" in page
    assert read_decisions(Store(tmp_path), "synthetic")[run].who.endswith("in a browser")
    post(browser, f"run={run}&verdict=withdrawn")
    assert "is worse in 1 of 2 cells" in browser.ask("/history/synthetic?now=1").text


@pytest.mark.parametrize(
    "body", ["run=c12&verdict=expected", "run=c12&verdict=x&why=y", "run=no&verdict=ignored&why=y"]
)
def test_what_is_no_decision_is_refused(browser, tmp_path, body):
    assert post(browser, body).status in (400, 404)
    assert read_decisions(Store(tmp_path), "synthetic") == {}


def test_nobody_else_decides(browser, tokens, tmp_path):
    body = "run=c12&verdict=ignored&why=y"
    assert post(browser, body, sec_fetch_site="cross-site").status == 403
    read_only = f"steelyard-8484={tokens.make_cookie('read')}"
    assert post(browser, body, cookie=read_only).status == 403
    assert read_decisions(Store(tmp_path), "synthetic") == {}
