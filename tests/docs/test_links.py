"""Every link of every page leads to a file of the repository, and to an anchor that GitHub gives it."""

from __future__ import annotations

import re
from functools import cache

import pytest

from pages import PAGES, ROOT, prose, show_path

LINK = re.compile(r"\]\(([^)\s]+)\)")


def targets(page):
    without_code = re.sub(r"`[^`\n]*`", "", prose(page))
    return [target for target in LINK.findall(without_code) if not re.match(r"[a-z]+:", target)]


@cache
def anchors(page):
    """Of headings, as GitHub makes them, and those that a page sets itself."""
    text = prose(page)
    slugs: list[str] = []
    for heading in re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
        slugs.append(f"{slug}-{slugs.count(slug)}" if slug in slugs else slug)
    return {*slugs, *re.findall(r'<a id="([^"]+)">', text)}


@pytest.mark.parametrize("page", PAGES, ids=show_path)
def test_every_link_leads_somewhere(page):
    broken = []
    for target in targets(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.is_relative_to(ROOT) or not file.exists():
            broken.append(f"{target}: no such file")
        elif anchor and anchor not in anchors(file):
            broken.append(f"{target}: no such heading")
    assert broken == []


def test_anchors_are_those_of_github(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        '# A: `b_c` and [d](e.md)\n\n## Why?\n\n## Why?\n\n```sh\n# no heading\n```\n\n<a id="own"></a>\n'
    )
    assert anchors(page) == {"a-b_c-and-d", "why", "why-1", "own"}
