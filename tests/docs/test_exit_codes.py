"""docs/reference/exit-codes.md has the codes of the exceptions, and those of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from steelyard import errors
from steelyard.cli.app import group

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "exit-codes.md").read_text()
CODES = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}


def list_kinds(kind: type[errors.SteelyardError]) -> Iterator[type[errors.SteelyardError]]:
    """An exception and all below it, in errors.py."""
    yield kind
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield from list_kinds(each)


@pytest.mark.parametrize("kind", list(list_kinds(errors.SteelyardError)), ids=lambda kind: kind.__name__)
def test_an_exception_stands_beside_its_code(kind):
    (row,) = re.findall(rf"^\|.*`{kind.__name__}`.*\| (\d+) \|$", PAGE, re.MULTILINE)
    assert int(row) == kind.exit_code


def test_the_codes_that_help_names_are_on_the_page():
    told = {int(code) for code in re.findall(r"\b(\d+) ", (group.help or "").split("Exit codes:")[1])}
    assert told <= CODES


@pytest.mark.parametrize("code", [125, 127])
def test_the_codes_of_a_cluster_are_on_the_page(code):
    command = group.get_command(click.Context(group), "cluster")
    assert str(code) in str(command.help)
    assert code in CODES
