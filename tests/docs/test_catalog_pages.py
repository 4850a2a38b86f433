"""The pages of the catalogue say what the entries say of themselves."""

from __future__ import annotations

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def generator():
    loader = SourceFileLoader("catalog_pages", str(ROOT / "scripts" / "catalog-pages"))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


PAGES = generator().pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name):
    assert (ROOT / "docs" / "catalog" / name).read_text() == PAGES[name], "run `make pages`"


@pytest.mark.parametrize("name", PAGES)
def test_every_row_has_as_many_cells_as_its_heading(name):
    tables = re.findall(r"(?:^\|.*\|$\n)+", PAGES[name], re.MULTILINE)
    assert tables
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table


def test_the_readme_leads_to_every_page():
    readme = (ROOT / "README.md").read_text()
    assert all(f"(docs/catalog/{name})" in readme for name in PAGES)
