"""Templates are translated once, and never used for others than those that they were made of."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest

from steelyard.report import html
from steelyard.report.markup import mark_code
from steelyard.report.template_cache import FILTERS, PAGES, make_environment, translate


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """A loader's module in `sys.modules` dies with it, and Hypothesis fails when it looks there just then."""
    yield
    gc.collect()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for page in html.TEMPLATES.glob(PAGES):
        shutil.copy(page, tmp_path)
    return tmp_path


def render(folder: Path) -> str:
    (folder / "page.html.j2").write_text('{{ "`a`" | ticked }} {{ text | counted("x") }} {{ text }}')
    filters = {"counted": lambda text, what: f"1 {what} of {text}", "ticked": mark_code}
    return make_environment(folder, filters).get_template("page.html.j2").render(text="<b>")


def test_a_translation_says_what_its_template_says(folder: Path) -> None:
    fresh = render(folder)
    assert fresh == "<code>a</code> 1 x of &lt;b&gt; &lt;b&gt;"
    there = translate(folder)
    assert sorted(path.suffix for path in there.iterdir()) == [".py"] * len(list(folder.glob(PAGES)))
    environment = make_environment(folder, dict.fromkeys(FILTERS, str))
    assert isinstance(environment.loader, jinja2.ModuleLoader)
    assert render(folder) == fresh, "a filter is applied when the page is written, also to a constant"


def test_after_an_edit_it_is_not_used(folder: Path) -> None:
    old = translate(folder)
    with next(folder.glob(PAGES)).open("a") as page:
        page.write(" ")
    assert isinstance(make_environment(folder, {}).loader, jinja2.FileSystemLoader)
    new = translate(folder)
    assert [path for path in folder.iterdir() if path.is_dir()] == [new] != [old]


def test_another_jinja_translates_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translate(folder)
    monkeypatch.setattr(jinja2, "__version__", "0.1")
    assert isinstance(make_environment(folder, {}).loader, jinja2.FileSystemLoader)


def test_the_package_was_built_with_its_translation() -> None:
    assert isinstance(make_environment(html.TEMPLATES, {}).loader, jinja2.ModuleLoader)
