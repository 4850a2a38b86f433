"""Workflows for CI services: they are YAML, short, and every command in them is understood."""

from __future__ import annotations

import re

import pytest
from ruamel.yaml import YAML

from command_lines import check_line
from pages import PAGES, blocks, show_path
from steelyard.model.suite import Suite

LONGEST = 15
WORKFLOWS = [
    pytest.param(block, id=f"{show_path(page)}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page, "yaml"))
    if block.startswith("# .") and not block.startswith("# ./")  # hidden files, as services have them
]


def list_commands(tree):
    """All texts of a workflow that a shell runs, line by line."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key in ("run", "script", "after_script"):
                yield from [value] if isinstance(value, str) else value
            else:
                yield from list_commands(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from list_commands(value)


def test_there_are_some():
    assert len(WORKFLOWS) >= 5


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_workflow_is_short_and_its_commands_are_understood(workflow):
    assert len(workflow.splitlines()) <= LONGEST
    commands = list(list_commands(YAML(typ="safe").load(workflow)))
    lines = [match for text in commands for match in re.findall(r"\bsteelyard +([^;&|]+)", text)]
    assert lines
    for line in lines:
        check_line(re.sub(r"\$\{?\w+(:\d:\d\})?", "x", line))


def test_the_suite_on_its_page_is_one():
    page = next(page for page in PAGES if page.name == "suite.md")
    (block,) = blocks(page, "yaml")
    suite = Suite.model_validate(YAML(typ="safe").load(block))
    assert [entry.file for entry in suite.experiments] == ["throughput.yaml", "latency.yaml", "failover.yaml"]
