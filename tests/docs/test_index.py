"""docs/README.md leads to every page of the four shelves, and a page names only commands that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from steelyard.cli.app import COMMANDS
from steelyard.cli.cluster import ACTIONS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHELVES = ("tutorials", "how-to", "reference", "explanation")
PAGES = sorted(page for shelf in SHELVES for page in (DOCS / shelf).rglob("*.md"))
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
NAMED = re.compile(r"(?:`|^\$? ?)steelyard ([a-z]+)(?: ([a-z]+))?", re.MULTILINE)


def test_every_page_is_on_a_shelf():
    assert [page.name for page in DOCS.glob("*.md")] == ["README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_index_leads_to_a_page(page):
    assert f"({page.relative_to(DOCS)})" in (DOCS / "README.md").read_text()


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_only_commands_that_there_are(page):
    named = NAMED.findall(page.read_text())
    assert [command for command, _ in named if command not in COMMANDS] == []
    assert [
        action for command, action in named if command == "cluster" and action and action not in ACTIONS
    ] == []
