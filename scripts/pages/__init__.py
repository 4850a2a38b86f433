"""The pages of docs/ that `make pages` writes from the program and from other pages."""

from __future__ import annotations

from pathlib import Path

from scripts.pages import catalog, commands, decisions, keys

DOCS = Path(__file__).parents[2] / "docs"


def pages() -> dict[str, str]:
    """Each generated page by its path in docs/."""
    return {**catalog.pages(), **keys.pages(), **commands.pages(), **decisions.pages(DOCS / "decisions")}
