"""Gather what the site shows: all pages and the files that they link to, where they lie in the repository."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

SHELVES = {
    "docs/tutorials": "Tutorials",
    "docs/how-to": "How-to",
    "docs/reference": "Reference",
    "docs/explanation": "Explanation",
    "examples": "Examples",
}
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
ANCHORED = re.compile(r"\[([^][]+)\]\(([^)\s#]*)#([^)\s]+)\)")
FOLDED = "docs/decisions/README"
"""A page below which the others of its folder stand, as they are too many for the site's margin."""


def stage(root: Path, folder: Path) -> None:
    """Copy all pages and what they link to into an empty folder, with a table of contents."""
    pages = _find_pages(root)
    for path in {file for page in pages for file in _linked_files(page, root)}.difference(pages):
        shutil.copyfile(path, _make_place(folder, path.relative_to(root)))
    for page in pages:
        _make_place(folder, page.relative_to(root)).write_text(_keep_own_anchors(page))
    names = [page.relative_to(root).with_suffix("").as_posix() for page in pages]
    below = [name for name in names if name.startswith(FOLDED.removesuffix("README")) and name != FOLDED]
    if below:
        with (folder / f"{FOLDED}.md").open("a") as index:
            index.write(
                "\n".join(["", "```{toctree}", ":hidden:", *(f"/{name}" for name in below), "```", ""])
            )
    contents = _contents([name for name in names if name not in below])
    (folder / "contents.rst").write_text("\n".join(contents) + "\n")


def _find_pages(root: Path) -> list[Path]:
    """All pages for readers, the front pages first."""
    front = [path for path in (root / "README.md", root / "docs" / "README.md") if path.exists()]
    rest = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.md")]
    return list(dict.fromkeys([*front, *sorted(rest)]))


def _linked_files(page: Path, root: Path) -> Iterator[Path]:
    for target in LINK.findall(page.read_text()):
        path = (page.parent / target).resolve()
        if "://" not in target and path.is_file() and path.is_relative_to(root):
            yield path


def _make_place(folder: Path, path: Path) -> Path:
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _keep_own_anchors(page: Path) -> str:
    """MyST knows anchors of headings only: links to those that a page writes as HTML become HTML as well."""

    def rewrite(link: re.Match[str]) -> str:
        label, path, anchor = link.groups()
        file = (page.parent / path).resolve() if path else page
        if not file.is_file() or f'<a id="{anchor}">' not in file.read_text():
            return link[0]
        return f'<a href="{re.sub(r"[.]md$", ".html", path)}#{anchor}">{label}</a>'

    return ANCHORED.sub(rewrite, page.read_text())


def _contents(names: Sequence[str]) -> Iterator[str]:
    """What stands in the site's margin: a part for each shelf."""
    yield from ("Contents", "========", "")
    shelved = {shelf: [name for name in names if name.startswith(f"{shelf}/")] for shelf in SHELVES}
    yield from _part("", [name for name in names if not any(name in shelf for shelf in shelved.values())])
    for shelf, pages in shelved.items():
        yield from _part(SHELVES[shelf], pages)


def _part(caption: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield from (".. toctree::", "   :maxdepth: 1", *([f"   :caption: {caption}"] if caption else []), "")
        yield from (*(f"   {name}" for name in names), "")
