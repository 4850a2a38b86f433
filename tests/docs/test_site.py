"""`make docs` builds a whole site that asks no other origin for anything, and refuses a broken link."""

from __future__ import annotations

import re
import subprocess
from html.parser import HTMLParser

import pytest
from scripts.docs.stage import stage

from pages import ROOT

LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "form": "action"}
pytestmark = pytest.mark.xdist_group("site")  # it is built once
ELSEWHERE = re.compile(r"(?:[a-z][a-z+.-]*:)?//")


class Loads(HTMLParser):
    """What a page has a browser fetch."""

    def __init__(self):
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag, attrs):
        """Remember its address, if it has one."""
        self.urls += [value for key, value in attrs if key == LOADS.get(tag) and value]


def fetched(text):
    parser = Loads()
    parser.feed(text)
    return [url for url in parser.urls if ELSEWHERE.match(url)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        ["make", "--silent", "docs", f"SITE={folder}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.full  # needs PyPI, the first time
def test_it_has_every_page_and_a_front_page(site):
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    made = [(site / page.relative_to(ROOT)).with_suffix(".html") for page in pages]
    assert [page for page in (*made, site / "index.html", site / "searchindex.js") if not page.exists()] == []


@pytest.mark.full
def test_it_asks_no_other_origin(site):
    pages = {page.relative_to(site): fetched(page.read_text()) for page in site.rglob("*.html")}
    assert {page: urls for page, urls in pages.items() if urls} == {}
    styles = [
        url for style in site.rglob("*.css") for url in re.findall(r"url\(['\"]?([^)]+)", style.read_text())
    ]
    assert [url for url in styles if ELSEWHERE.match(url)] == []
    assert [style for style in site.rglob("*.css") if "@import" in style.read_text()] == []


@pytest.mark.full
@pytest.mark.parametrize("link", ["none.md", "#none", "docs/page.md#none", "docs"])
def test_a_broken_link_is_refused(site, tmp_path, link):
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "README.md").write_text(f"# A\n\n[page](docs/page.md#second) and [b]({link})\n")
    (root / "docs" / "page.md").write_text("# B\n\n## Second\n")
    argv = [".tools/docs/bin/python", "-m", "scripts.docs", str(tmp_path / "site"), str(root)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert link.rpartition("#")[2] in done.stderr
    assert not (tmp_path / "site").exists()


def test_pages_are_gathered_with_the_files_that_they_link_to(tmp_path):
    root, folder = tmp_path / "root", tmp_path / "pages"
    (root / "docs" / "decisions").mkdir(parents=True)
    (root / "examples").mkdir()
    for path in ("examples/used.yaml", "examples/unused.yaml"):
        (root / path).write_text("experiment: a\n")
    (tmp_path / "outside.md").write_text("# Secret\n")
    (root / "README.md").write_text(
        "# A\n\n[f](examples/used.yaml) [o](../outside.md) [w](docs/words.md#own)\n"
    )
    (root / "docs" / "words.md").write_text('# W\n\n<a id="own"></a>here, [there](#own)\n')
    (root / "docs" / "decisions" / "README.md").write_text("# Decisions\n")
    (root / "docs" / "decisions" / "0001-first.md").write_text("# 0001 First\n")
    folder.mkdir()
    stage(root, folder)
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    pages = {"README.md", "docs/words.md", "docs/decisions/README.md", "docs/decisions/0001-first.md"}
    assert files == {*pages, "examples/used.yaml", "contents.rst"}
    assert '<a href="docs/words.html#own">w</a>' in (folder / "README.md").read_text()
    assert '<a href="#own">there</a>' in (folder / "docs" / "words.md").read_text()
    assert "/docs/decisions/0001-first" in (folder / "docs" / "decisions" / "README.md").read_text()
    assert "0001" not in (folder / "contents.rst").read_text()


def test_another_origin_is_noticed():
    assert fetched('<script src="//cdn.test/a.js"></script><a href="https://a.test"></a>') == [
        "//cdn.test/a.js"
    ]
    assert fetched('<link href="https://a.test/a.css"><img src="data:image/png;base64,AA">') == [
        "https://a.test/a.css"
    ]
