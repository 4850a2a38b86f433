"""`examples/outage.yaml` beside `steelyard serve`: the outage is seen as it happens, and a phone steers."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from patience import until
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord
from web_server import browsing, serving

EXAMPLE = Path(__file__).parents[2] / "examples" / "outage.yaml"
BAND = "[...document.querySelectorAll('#series rect title')].some(e => e.textContent.includes('pause'))"
pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed"),
]


@pytest.fixture
def run(enterable_scratch, tmp_path):
    """The example, until the test ends it."""
    words = ["run", "-q", "--beside", "--store", str(tmp_path / "store"), str(EXAMPLE)]
    errors = (tmp_path / "errors").open("wb")
    process = subprocess.Popen([sys.executable, "-m", "steelyard", *words], stdout=errors, stderr=errors)
    try:
        assert until(lambda: Store(tmp_path / "store").list_runs() or process.poll() is not None)
        if process.poll() is not None:
            pytest.skip((tmp_path / "errors").read_text())
        yield Store(tmp_path / "store").list_runs()[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        errors.close()


def lines(folder, kind):
    return [line for line in RunRecord(folder).journal if line["kind"] == kind]


def press(browser, verb):
    button = f"document.querySelector('#actions form[action$={verb}] button')"
    browser.wait(button)
    browser.evaluate(f"{button}.click()")
    browser.wait_until_ready()


def test_an_outage_is_seen_as_it_happens_and_a_phone_suspends_and_continues(run, tmp_path):
    with serving(tmp_path / "store", tmp_path, apart=False) as server, browsing(server) as browser:
        browser.visit(server.link)
        browser.visit(f"{server.base}runs/{run.id}")
        browser.wait("document.querySelector('#series polyline')")
        assert until(lambda: lines(run, "event-began"))
        browser.wait(BAND)
        seen, number = time.time(), len(lines(run, "trial-ended"))
        began = lines(run, "event-began")[-1]
        print("from the outage to its band:", round(seen - began["wall"], 2), "s")
        assert began["trial"] == number + 1, "the trial in which it happens is still going on"
        browser.visit(f"{server.base}runs/{run.id}", width=390, height=844)
        press(browser, "suspend")
        browser.wait("document.querySelector('#state .state')?.textContent.includes('suspended')")
        press(browser, "continue")
        browser.wait("document.querySelector('#state .state')?.textContent.includes('running')")
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
        assert not browser.errors
    asked = [(line["action"], line["by"]) for line in lines(run, "action-acknowledged")]
    assert [action for action, _ in asked] == ["suspend", "continue"]
    assert all(by.endswith(" in a browser") for _, by in asked)
    assert lines(run, "run-suspended")[0]["by"] == lines(run, "run-continued")[0]["by"] == asked[0][1]
