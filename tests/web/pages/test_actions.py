"""A run steered by its page: what was asked is acknowledged, who asked is named, and what fails says why."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from asgi import Client
from patience import until
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord
from steelyard.store.writer import is_live
from steelyard.web.access.gate import Access
from steelyard.web.app import make_app
from steelyard.web.starting.starter import RunStarter

FILE = "experiment: steered\nworkload: {use: command, run: [sleep, '0.2']}\nrepeat: 400\ndisturbed: include\n"


@pytest.fixture
def run(tmp_path):
    """A run that goes on until the test ends it."""
    (tmp_path / "steered.yaml").write_text(FILE)
    words = ["run", "-q", "--beside", "--store", str(tmp_path / "store"), str(tmp_path / "steered.yaml")]
    silent = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, "-m", "steelyard", *words], stdout=silent, stderr=silent)
    store = Store(tmp_path / "store")
    try:
        assert until(lambda: store.list_runs() and has(store.list_runs()[0], "trial-ended"))
        yield store.list_runs()[0]
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def starter(tmp_path):
    with RunStarter(Store(tmp_path / "store")) as one:
        yield one


@pytest.fixture
def client(tmp_path, starter, tokens):
    app = make_app(Store(tmp_path / "store"), Access(tokens), starter)
    cookie = f"steelyard-8484={tokens.make_cookie('act')}"
    return Client(app, headers={"cookie": cookie, "sec-fetch-site": "same-origin"})


def has(folder, kind: str, **fields) -> bool:
    lines = RunRecord(folder).journal if folder.journal.is_file() else []
    return any(line["kind"] == kind and fields.items() <= line.items() for line in lines)


def act(client, folder, verb: str, body: str = ""):
    return client.ask(f"/runs/{folder.id}/actions/{verb}", method="POST", body=body)


def test_a_run_is_suspended_continued_and_cancelled_and_the_journal_names_who_asked(run, client):
    answer = act(client, run, "suspend")
    assert (answer.status, answer.headers["location"]) == (303, f"../../{run.id}")
    assert until(lambda: has(run, "run-suspended"))
    assert "suspended" in client.ask(f"/runs/{run.id}").text
    again = act(client, run, "suspend")
    assert again.status == 409
    assert "already" in again.text
    assert act(client, run, "continue").status == 303
    assert until(lambda: has(run, "run-continued"))
    assert act(client, run, "cancel").status == 303
    assert until(lambda: has(run, "run-ended", state="cancelled"))
    (asked,) = [line for line in RunRecord(run).journal if line.get("action") == "suspend"]
    assert asked["by"].endswith(" in a browser")
    assert "in a browser" in client.ask(f"/runs/{run.id}/journal").text


def test_a_run_is_extended_while_it_goes_on(run, client):
    assert act(client, run, "extend", "repeat=500&levels=").status == 303
    assert until(lambda: has(run, "run-extended"))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "nothing to add"),
        ("repeat=x", "is no number"),
        ("levels=a", "is not NAME=LEVEL"),
        ("repeat=3", "has 400 repetitions already"),
    ],
)
def test_what_adds_nothing_is_refused(run, client, body, said):
    answer = act(client, run, "extend", body)
    assert answer.status in (400, 409)
    assert said in answer.text
    assert not has(run, "run-extended")


def test_a_run_that_is_over_is_resumed_by_a_command_of_its_own(run, client, starter):
    assert act(client, run, "cancel").status == 303
    assert until(lambda: has(run, "run-ended") and not is_live(run))
    answer = act(client, run, "resume")
    assert answer.status == 303
    key = re.fullmatch(r"(?:\.\./)+starts/(\S+)", answer.headers["location"])[1]
    assert until(lambda: starter.read(key).run == run.id)
    shown = client.ask(f"/starts/{key}")
    assert (shown.status, shown.headers["location"]) == (303, f"../runs/{run.id}")
    assert until(lambda: has(run, "run-resumed"))
    assert act(client, run, "cancel").status == 303
    assert until(lambda: not is_live(run))


def test_a_run_that_is_not_there_any_more_says_so(run, client):
    act(client, run, "cancel")
    assert until(lambda: has(run, "run-ended") and not is_live(run))
    answer = act(client, run, "suspend")
    assert answer.status == 400
    assert "is not in progress" in answer.text


def test_what_is_no_action_is_none(run, client):
    assert act(client, run, "explode").status == 404
    assert client.ask(f"/runs/{run.id}/actions/cancel").status == 405
    assert act(client, run, "extend", "x" * (2 << 20)).status == 400
    assert not has(run, "run-ended")


def test_nobody_else_steers(run, client, tokens):
    path = f"/runs/{run.id}/actions/cancel"
    read = f"steelyard-8484={tokens.make_cookie('read')}"
    assert client.ask(path, method="POST", cookie=read).status == 403
    assert client.ask(path, method="POST", sec_fetch_site="cross-site").status == 403
    assert client.ask(path, method="POST", cookie="").status == 401
    assert not has(run, "action-acknowledged")
