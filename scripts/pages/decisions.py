"""docs/decisions/README.md: the index of all decisions, from the first lines of their pages."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.pages.table import rows

HEAD = """\
# Decisions

One page each: what we decided, why, and what we did not take. `make pages` writes this index from the
pages. A new decision gets the next number; one that no longer holds keeps its page, which then links to the
one in its place.
"""
TITLE = re.compile(r"# (\d{4}) (.+)\n\nDate: (\d{4}-\d{2}-\d{2})\n")


def pages(folder: Path) -> dict[str, str]:
    """The index by its path in docs/."""
    table = rows(("", "decision", "date"), map(_row, sorted(folder.glob("[0-9]*.md"))))
    return {"decisions/README.md": "\n".join([HEAD.rstrip(), *table]) + "\n"}


def _row(page: Path) -> tuple[str, str, str]:
    heading = TITLE.match(page.read_text())
    if not heading:
        raise ValueError(f"{page} does not begin with '# NNNN Title' and 'Date: YYYY-MM-DD'")
    number, title, date = heading.groups()
    return number, f"[{title}]({page.name})", date
