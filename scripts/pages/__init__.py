"""The pages of docs/ that `make pages` writes from the program and from other pages."""

from __future__ import annotations

from pathlib import Path

from scripts.pages import catalog, commands, decisions, keys, requirements

DOCS = Path(__file__).parents[2] / "docs"


def pages() -> dict[str, str]:
    """Each generated page by its path in docs/."""
    own = {**catalog.pages(), **requirements.pages(), **keys.pages(), **commands.pages()}
    return {**own, **decisions.pages(DOCS / "decisions")}
