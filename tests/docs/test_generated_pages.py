"""The generated pages say what the program says of itself today."""

from __future__ import annotations

import re

import click
import pytest
from scripts.pages import DOCS, decisions, pages

from steelyard.cli.app import COMMANDS, group
from steelyard.cli.cluster import ACTIONS
from steelyard.model.experiment import Experiment
from steelyard.spec.keys import examples

PAGES = pages()
COMMAND_PAGE = PAGES["reference/commands.md"]
KEY_PAGE = PAGES["reference/keys.md"]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_up_to_date(path):
    assert (DOCS / path).read_text() == PAGES[path], "run `make pages`"


@pytest.mark.parametrize("path", PAGES)
def test_every_row_has_as_many_cells_as_its_heading(path):
    tables = re.findall(r"(?:^\|.*\|$\n)+", PAGES[path], re.MULTILINE)
    assert tables
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table


def test_the_front_pages_lead_to_every_page():
    fronts = {DOCS: DOCS / "README.md", DOCS.parent: DOCS.parent / "README.md"}
    linked = {
        (base / target).resolve()
        for base, front in fronts.items()
        if front.exists()
        for target in re.findall(r"\]\(([^)#]+)", front.read_text())
    }
    assert [path for path in PAGES if DOCS / path not in linked] == []


def test_every_key_has_a_section_with_the_example_that_is_tested():
    """See tests/spec/test_keys.py."""
    for key in Experiment.model_json_schema()["properties"]:
        section = KEY_PAGE.split(f"\n## {key}\n")[1].split("\n## ")[0]
        assert f"```yaml\n{examples()[key]}\n```" in section


def test_every_command_has_a_section_with_all_its_options():
    names = [*COMMANDS, *(f"cluster {name}" for name in ACTIONS)]
    for name in names:
        section = COMMAND_PAGE.split(f"\n## steelyard {name}\n")[1].split("\n## ")[0]
        command = group
        for word in name.split():
            command = command.get_command(click.Context(command), word)
        options = [
            option for param in command.params if isinstance(param, click.Option) for option in param.opts
        ]
        assert [option for option in options if f"`{option}" not in section] == []
        assert "\b" not in section


def test_the_index_of_decisions_refuses_a_page_without_a_date(tmp_path):
    (tmp_path / "0001-first.md").write_text("# 0001 First\n\nWe did.\n")
    with pytest.raises(ValueError, match=r"0001-first.md does not begin with"):
        decisions.pages(tmp_path)


def test_the_numbers_of_decisions_have_no_gap():
    numbers = [int(path.name[:4]) for path in sorted((DOCS / "decisions").glob("[0-9]*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))
