"""What pages cost: their bytes and time in stores of 1,000 and 10,000 runs, how soon a line of a journal is
painted, and what a hundred viewers of one run cost the server.

Every floor comes from the same server: a page of as many bytes from memory, events that nothing was read for.
Viewers are connections of our own; what is painted is painted by Chromium.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import repeat
from pathlib import Path
from typing import Any

from bench import records
from bench.process import NotMeasured, in_turns, run
from bench.row import Row, percentile
from bench.served import EVERY, TOKEN
from bench.serving import Server, serving
from bench.setting import Setting
from bench.viewers import follow
from bench.watching import find_journal
from steelyard.store.layout import Store
from steelyard.web.runs_index import SETTLED

FEW, MANY, VIEWERS = 1_000, 10_000, 100
MOST_BYTES, MOST_MEMORY = 30 * 1024, 60e6
PAINTED_WITHIN = 0.1  # seconds beyond a bare event
MOST_OF_BARE = 1.7  # 5 % of a core, where bare events take the 3 % that a quiet machine showed
LINES = 60
LIBRARIES = "import starlette.applications, uvicorn, jinja2"
EXPERIMENT = """
experiment: watched
workload: {use: command, run: [sleep, "600"]}
repeat: 6
"""


def rows(setting: Setting) -> Iterator[Row]:
    """Pages, then the first byte, then a run that is watched."""
    few, many = setting.folder("few"), setting.folder("ten-thousand")
    records.many_runs(Store(few), FEW)
    records.many_runs(Store(many), MANY)
    time.sleep(SETTLED)  # a store that has just changed is listed again for each page
    yield from _pages(setting, few, many)
    yield from _watched(setting)


def _pages(setting: Setting, few: Path, many: Path) -> Iterator[Row]:
    with serving(setting, few) as small, serving(setting, many) as large:
        size = len(small.ask("/"))
        yield Row("serve", f"page of {FEW:,} runs", "B", (float(size),), limit=MOST_BYTES)
        pages = {"bare": lambda: _time(small, f"/bare?bytes={size}"), "few": lambda: _time(small, "/")}
        pages["many"] = lambda: _time(large, "/")
        in_turns(3, pages)
        found = in_turns(10 * setting.turns, pages)
        bare = "a bare page of its bytes"
        yield Row("serve", f"page of {FEW:,} runs", "s", found["few"], bare, found["bare"], most=5.0)
        fewer = f"{FEW:,} runs"
        yield Row("serve", f"page of {MANY:,} runs", "s", found["many"], fewer, found["few"], most=2.0)
        yield Row("serve", f"memory of the server of {MANY:,} runs", "B", (large.memory,), limit=MOST_MEMORY)
    sides = {"first": lambda: _first_byte(setting, few), "libraries": lambda: _load_libraries(setting)}
    in_turns(1, sides)
    found = in_turns(setting.turns, sides)
    yield Row("serve", "first byte", "s", found["first"], LIBRARIES, found["libraries"], most=3.0)


def _watched(setting: Setting) -> Iterator[Row]:
    store = setting.fresh("watched-store")
    with _running(setting, store) as journal, serving(setting, store) as server:
        events = f"/runs/{journal.parent.name}/events?after=0"
        yield from _crowded(server, journal, events)
        if shutil.which("chromium") is None:
            raise NotMeasured("chromium is not installed")
        with _browsing() as browser:
            browser.visit(f"http://127.0.0.1:{server.port}/?token={TOKEN}")
            bare = _paint_bare(browser, server)
            browser.visit(f"http://127.0.0.1:{server.port}/runs/{journal.parent.name}")
            painted = _paint_lines(browser, journal)
        allowed = percentile(bare, 95) + PAINTED_WITHIN
        what, floor = "line to painted frame, p95", f"a bare event and {1000 * PAINTED_WITHIN:g} ms"
        yield Row("serve", what, "s", (percentile(painted, 95),), floor, (allowed,), most=1.0)


def _crowded(server: Server, journal: Path, events: str) -> Iterator[Row]:
    """Many viewers beside one, and beside as many of events that cost nothing to make."""
    one, crowd, bare = [], [], []
    for _ in range(3):
        one.append(follow(server, events, 1, _write_lines(journal, LINES)))
        crowd.append(follow(server, events, VIEWERS, _write_lines(journal, LINES)))
        bare.append(follow(server, "/bare/events", VIEWERS, repeat(None, LINES)))
    late, alone = (tuple(percentile(each.delays, 99) for each in turns) for turns in (crowd, one))
    yield Row("serve", f"line to {VIEWERS} viewers, p99", "s", late, "one viewer", alone, most=5.0)
    ours, floor = (tuple(each.cpu for each in turns) for turns in (crowd, bare))
    what = f"CPU of the server, {VIEWERS} viewers, {1 / EVERY:g} lines/s"
    beside = f"bare events to {VIEWERS}"
    yield Row("serve", what, "%", ours, beside, floor, most=MOST_OF_BARE)


def _time(server: Server, path: str) -> float:
    began = time.perf_counter()
    server.ask(path)
    return time.perf_counter() - began


def _first_byte(setting: Setting, store: Path) -> float:
    """From the start of the server to the first byte of its first page."""
    began = time.perf_counter()
    with serving(setting, store) as server:
        server.ask("/")
        return time.perf_counter() - began


def _load_libraries(setting: Setting) -> float:
    return run((sys.executable, "-c", LIBRARIES), cwd=setting.place, env=setting.environment).seconds


@contextmanager
def _running(setting: Setting, store: Path) -> Iterator[Path]:
    """A run in its first trial; where its journal is."""
    file = setting.fresh("watched") / "watched.yaml"
    file.write_text(EXPERIMENT)
    words = (sys.executable, "-m", "steelyard", "run", "-q", "--store", str(store), str(file))
    silent = subprocess.DEVNULL
    process = subprocess.Popen(words, env=setting.environment, stdin=silent, stdout=silent, stderr=silent)
    try:
        yield find_journal(store, "trial-started")
    finally:
        process.terminate()
        process.wait()


def _write_lines(journal: Path, count: int) -> Iterator[None]:
    """Append a warning that holds the moment at which it is written, again and again."""
    last = int(json.loads(journal.read_text().splitlines()[-1])["seq"])
    for number in range(last + 1, last + 1 + count):
        now = time.time()
        line = {"seq": number, "wall": now, "kind": "warning", "text": f"stamp {now:.6f}."}
        with journal.open("a") as file:
            file.write(json.dumps(line) + "\n")
        yield


@contextmanager
def _browsing() -> Iterator[Any]:
    """The browser of the tests."""
    shared = str(Path(__file__).parents[1] / "tests" / "shared")
    sys.path.insert(0, shared)
    try:
        browser = import_module("browser").Browser
    finally:
        sys.path.remove(shared)
    with (
        tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as profile,
        browser(Path(profile), []) as shown,
    ):
        yield shown


_COLLECT = "new Promise((done) => setTimeout(() => done(window.late), %d))"


def _paint_bare(browser: Any, server: Server) -> list[float]:
    """How late a frame is painted after an event from memory, in seconds."""
    url = f"http://127.0.0.1:{server.port}/bare/events"
    browser.evaluate(
        "(() => { window.late = []; const place = document.querySelector('h1');"
        f" const source = new EventSource({json.dumps(url)}); source.onmessage = (event) =>"
        " { place.textContent = event.data; requestAnimationFrame(() =>"
        " window.late.push(Date.now() / 1000 - event.data)); }; })()"
    )
    figures: list[float] = browser.evaluate(_COLLECT % int(1000 * EVERY * LINES))
    return figures


def _paint_lines(browser: Any, journal: Path) -> list[float]:
    """How late a frame is painted after a line was written, in seconds."""
    browser.wait("document.querySelector('#trial a')")
    browser.evaluate(
        "(() => { window.late = []; const seen = new Set(); new MutationObserver(() => {"
        " const stamp = /stamp ([0-9.]+)\\./.exec(document.querySelector('#notes').textContent)?.[1];"
        " if (stamp && !seen.has(stamp)) { seen.add(stamp); requestAnimationFrame(() =>"
        " window.late.push(Date.now() / 1000 - stamp)); } })"
        ".observe(document.body, {childList: true, subtree: true}); })()"
    )
    for _ in _write_lines(journal, LINES):
        time.sleep(EVERY)
    figures: list[float] = browser.evaluate(_COLLECT % 1000)
    if len(figures) < LINES / 2:
        raise NotMeasured(f"{len(figures)} of {LINES} lines were painted")
    return figures
