"""Every page for everybody: no serious finding of axe-core, nothing beyond a phone's screen, by keyboard."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from web_server import browsing, serving

_FIND = (
    "axe.run().then((found) => JSON.stringify(found.violations"
    ".filter((one) => ['serious', 'critical'].includes(one.impact))"
    ".map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 200))])))"
)
pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def axe() -> str:
    """The engine's script (https://github.com/dequelabs/axe-core)."""
    package = find_spec("axe_playwright_python")
    if package is None or package.origin is None:
        pytest.skip("axe-core is not installed; `make` installs it from tests/axe.txt")
    return Path(package.origin).with_name("axe.min.js").read_text("utf-8")


@pytest.fixture
def pages(build, plans, make_runs):
    """A store with two runs and a history in which something became worse, and the pages of it."""
    plan = plans.watched()
    assert make_runs(24, shift_at=14).alarms
    first, second = build(**plan), build(**plan)
    run = f"runs/{second.id}"
    parts = ("", "/trials", "/trials/1", "/file", "/environment", "/journal")
    compare = f"compare?run={first.id}&run={second.id}"
    return first.folder.path.parents[1], [
        *(run + part for part in parts),
        "",
        compare,
        "history",
        "history/synthetic?now=1",
        "catalog/fio",
        "new",
        "none",
    ]


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True)], ids=["desk", "phone"])
def test_nothing_serious_is_found_and_nothing_stands_beyond_the_screen(pages, tmp_path, axe, width, dark):
    store, urls = pages
    with serving(store, tmp_path) as server, browsing(server) as browser:
        browser.visit(server.link, width=width, dark=dark)
        for url in urls:
            browser.visit(server.base + url, width=width, height=844, dark=dark)
            browser.evaluate(f"{axe}; 0")
            assert json.loads(browser.evaluate(_FIND)) == [], url
            assert browser.evaluate("document.documentElement.scrollWidth") <= width, url


def press(browser, key: str, code: int, **more: str) -> None:
    for kind in ("keyDown", "keyUp"):
        browser("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)


def test_a_keyboard_is_enough(pages, tmp_path):
    store, _ = pages
    with serving(store, tmp_path) as server, browsing(server) as browser:
        browser.visit(server.link)
        for _ in range(60):
            press(browser, "Tab", 9)
            if browser.evaluate("document.activeElement.matches('tbody a')"):
                break
        assert browser.evaluate("document.activeElement.matches('tbody a')")
        assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        browser(
            "Input.dispatchKeyEvent", type="rawKeyDown", key="Enter", code="Enter", windowsVirtualKeyCode=13
        )
        browser("Input.dispatchKeyEvent", type="char", text="\r")
        browser.wait("location.pathname.startsWith('/runs/')")


def test_pages_work_without_a_script(pages, tmp_path):
    store, urls = pages
    with serving(store, tmp_path) as server, browsing(server) as browser:
        browser.visit(server.link)
        browser("Emulation.setScriptExecutionDisabled", value=True)
        browser("Page.navigate", url=server.base + urls[0])
        browser.wait("document.querySelector('#cells-head') && document.readyState === 'complete'")
        assert browser.evaluate("document.querySelectorAll('tbody tr').length") == 3
        assert browser.evaluate("document.querySelector('#actions form')") is not None
