"""A run in a real browser while it goes on: it shows what happens, who died, and disturbs nobody by dying."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time

import pytest

from patience import until
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord
from web_server import browsing, serving

FILE = """
experiment: live
parameters: {depth: [1, 4]}
workload:
  use: command
  run: [sh, -c, "for n in 1 2 3 4 5 6; do echo rate $((${depth} * 100 + n)); sleep 0.5; done; sleep 600"]
  metrics: {rate: {regex: 'rate ([0-9.]+)', unit: 1/s, better: higher}}
require: ["rate >= 90/s"]
repeat: 6
"""
pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")


@pytest.fixture
def run(tmp_path):
    """A run that goes on until the test ends it."""
    file = tmp_path / "live.yaml"
    file.write_text(FILE)
    words = ["run", "--quiet", "--beside", "--store", str(tmp_path / "store"), str(file)]
    process = subprocess.Popen(
        [sys.executable, "-m", "steelyard", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        assert until(lambda: Store(tmp_path / "store").list_runs())
        (folder,) = Store(tmp_path / "store").list_runs()
        yield process, folder
    finally:
        process.terminate()
        process.wait()


def test_what_happens_is_seen_as_it_happens_and_a_killed_run_died(run, tmp_path):
    process, folder = run
    with serving(tmp_path / "store", tmp_path) as server, browsing(server) as browser:
        browser.visit(server.link)
        assert "token" not in browser.evaluate("location.href")
        browser.wait(f"document.getElementById('run-{folder.id}')")
        browser.visit(f"{server.base}runs/{folder.id}")
        browser.wait("document.querySelector('#state .state').textContent.includes('running')")
        browser.wait("document.querySelector('#series polyline')")
        browser.wait("document.querySelector('#output pre')?.textContent.includes('rate')")
        browser.wait("document.querySelector('#trial a')")
        process.send_signal(signal.SIGKILL)
        browser.wait("document.querySelector('#state .state').textContent.includes('died')")
        browser.wait_until_ready()
        assert not browser.errors
        assert all(url.startswith((server.base, "data:")) for url in browser.requests), browser.requests


def test_a_line_of_the_journal_is_painted_soon(run, tmp_path):
    """How soon is told by `make bench`; here, that it comes by itself, with the number to come back with."""
    _, folder = run
    with serving(tmp_path / "store", tmp_path) as server, browsing(server) as browser:
        browser.visit(server.link)
        browser.visit(f"{server.base}runs/{folder.id}")
        browser.wait("document.querySelector('#trial a')")
        line = {
            "seq": 10**6,
            "wall": time.time(),
            "mono": 0.0,
            "kind": "warning",
            "text": "written by a test",
        }
        with folder.journal.open("a") as file:
            file.write(json.dumps(line) + "\n")
        browser.wait("document.querySelector('#notes').textContent.includes('written by a test')")
        browser.wait("document.body.dataset.seen === '1000000'")


def test_a_killed_server_harms_neither_the_run_nor_the_page_that_says_so(run, tmp_path):
    process, folder = run
    with serving(tmp_path / "store", tmp_path) as server, browsing(server) as browser:
        browser.visit(server.link)
        browser.visit(f"{server.base}runs/{folder.id}")
        browser.wait("document.querySelector('#state .state').textContent.includes('running')")
        assert browser.evaluate("document.getElementById('link').hidden")
        server.end(signal.SIGKILL)
        browser.wait("!document.getElementById('link').hidden")
        assert "running" in browser.evaluate("document.querySelector('#state .state').textContent")
    assert process.poll() is None


def test_a_killed_browser_harms_neither(run, tmp_path):
    process, folder = run
    with serving(tmp_path / "store", tmp_path) as server:
        with browsing(server) as browser:
            browser.visit(server.link)
            browser.visit(f"{server.base}runs/{folder.id}")
        assert server.ask(f"runs/{folder.id}").endswith("200")
    assert process.poll() is None


def test_a_run_is_asked_to_suspend_from_a_phone(run, tmp_path):
    _, folder = run
    with serving(tmp_path / "store", tmp_path, apart=False) as server, browsing(server) as browser:
        browser.visit(server.link, width=390, height=844)
        browser.visit(f"{server.base}runs/{folder.id}", width=390, height=844)
        browser.wait("document.querySelector('#actions form[action$=suspend] button')")
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
        browser.evaluate("document.querySelector('#actions form[action$=suspend] button').click()")
        browser.wait("document.querySelector('#notes')?.textContent.includes('asked to suspend it')")
        kinds = [line["kind"] for line in RunRecord(folder).journal]
        assert "action-acknowledged" in kinds
        browser.wait("document.querySelector('#actions details form[action$=cancel]')")
        assert not browser.errors


def test_who_may_only_read_sees_no_actions(run, tmp_path):
    _, folder = run
    with serving(tmp_path / "store", tmp_path, "--read-only") as server, browsing(server) as browser:
        browser.visit(server.link)
        browser.visit(f"{server.base}runs/{folder.id}")
        browser.wait("document.querySelector('#actions')")
        assert browser.evaluate("getComputedStyle(document.querySelector('#actions')).display") == "none"
