"""The page on which an experiment is written: checked as one types, filled in, saved, started."""

from __future__ import annotations

import json
import re
from urllib.parse import urlencode

import pytest

from asgi import Client
from patience import until
from steelyard.store.layout import Store
from steelyard.store.reader import UNDER_WAY, glance
from steelyard.web.access.gate import Access
from steelyard.web.app import make_app
from steelyard.web.starting.starter import RunStarter

TEXT = "experiment: quick\nworkload: {use: command, run: ['true']}\nrepeat: 2\n"


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def starter(store):
    with RunStarter(store) as one:
        yield one


@pytest.fixture
def client(store, starter, tokens):
    cookie = f"steelyard-8484={tokens.make_cookie('act')}"
    return Client(
        make_app(store, Access(tokens), starter), {"cookie": cookie, "sec-fetch-site": "same-origin"}
    )


def post(client, query: str = "", **fields: str):
    return client.ask(f"/new{query}", method="POST", body=urlencode(fields))


def test_it_begins_with_an_example_that_is_sound(client):
    answer = client.ask("/new")
    assert answer.status == 200
    assert "No problems" in answer.text
    assert "What it would run" in answer.text
    assert json.loads(client.ask("/new?as=json").text)["checked"]["problems"] == []


def test_problems_are_told_as_one_types(client):
    answer = post(client, "?as=parts", do="check", text=TEXT.replace("repeat", "repat"))
    parts = json.loads(answer.text)
    assert set(parts) == {"problems", "plan", "fields"}
    assert 'data-line="3"' in parts["problems"]
    assert "repeat" in parts["problems"]
    assert "No problems" in json.loads(post(client, "?as=parts", do="check", text=TEXT).text)["problems"]


def test_the_plan_waits_while_a_run_measures(client, monkeypatch):
    monkeypatch.setattr("steelyard.web.quiet.find_measuring_run", lambda: "run x measures")
    page = client.ask("/new").text
    assert "run x measures" in page
    assert "No problems" in page
    assert "What it would run" not in page
    assert "What it would run" in client.ask("/new?now=1").text
    assert "What it would run" in post(client, "?now=1", do="check", text=TEXT).text


def test_a_form_is_put_into_the_file(client):
    answer = post(client, do="form", text=TEXT, **{"field.repeat": "9", "field.experiment": "other"})
    assert "repeat: 9" in answer.text
    assert "experiment: other" in answer.text


def test_it_is_saved_without_being_started(client, store):
    answer = post(client, do="save", text=TEXT)
    assert "Saved as <code>quick</code>" in answer.text
    assert store.list_runs() == []
    assert "experiment: quick" in client.ask("/new?from=draft:quick").text


def test_it_is_started_as_a_command_of_its_own(client, store, starter):
    answer = post(client, do="start", text=TEXT, site="local")
    assert answer.status == 303
    key = re.fullmatch(r"starts/(\S+)", answer.headers["location"])[1]
    assert until(lambda: starter.read(key).run)
    folder = store.find(starter.read(key).run)
    assert until(lambda: folder.journal.is_file() and glance(folder).state not in UNDER_WAY)
    assert glance(folder).trials >= 2


def test_what_has_problems_is_not_started(client, store):
    answer = post(client, do="start", text=TEXT.replace("repeat", "repat"))
    assert answer.status == 200
    assert "No problems" not in answer.text
    assert store.list_runs() == []
    assert not (store.root / "starts").exists()


@pytest.mark.parametrize("site", ["--help", "; id", "../x", "a b", "local:1:2"])
def test_a_site_is_a_name(client, store, site):
    answer = post(client, do="check", text=TEXT, site=site)
    assert answer.status == 400
    assert "is not the name of a site" in answer.text


def test_a_megabyte_is_refused(client):
    assert post(client, do="check", text="x" * (1 << 20)).status == 400


def test_what_strangers_wrote_into_a_draft_does_nothing(client):
    bad = "</textarea><script>x</script><img src=x onerror=y>"
    answer = post(client, do="check", text=f'experiment: "{bad}"\nworkload: {bad}\n')
    assert "<script>x" not in answer.text
    assert "<img" not in answer.text


def test_who_may_only_read_writes_nothing(client, tokens, store):
    read = f"steelyard-8484={tokens.make_cookie('read')}"
    assert (
        client.ask("/new", method="POST", body=urlencode({"do": "save", "text": TEXT}), cookie=read).status
        == 403
    )
    assert not (store.root / "experiments").exists()
