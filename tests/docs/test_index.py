"""docs/README.md leads to every page of the four shelves."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHELVES = ("tutorials", "how-to", "reference", "explanation")
PAGES = sorted(page for shelf in SHELVES for page in (DOCS / shelf).rglob("*.md"))


def test_every_page_is_on_a_shelf():
    assert [page.name for page in DOCS.glob("*.md")] == ["README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_index_leads_to_a_page(page):
    assert f"({page.relative_to(DOCS)})" in (DOCS / "README.md").read_text()
