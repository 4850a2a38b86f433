"""Every command line of ours on a page is one that the program understands."""

from __future__ import annotations

import re

import click
import pytest

from command_lines import check_line, find_command, split
from pages import PAGES, ROOT, blocks, prose, show_path


def in_blocks(page):
    for block in blocks(page, "console", "sh", "bash", "shell"):
        for line in block.replace("\\\n", " ").splitlines():
            if match := re.match(r"\s*(?:\$ )?steelyard +(.+)", line):
                yield match[1]


def in_prose(page):
    return [" ".join(line.split()) for line in re.findall(r"`steelyard ([^`]+)`", prose(page))]


@pytest.mark.parametrize("page", [page for page in PAGES if any(in_blocks(page))], ids=show_path)
def test_the_commands_in_blocks_are_understood(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    problems = []
    for line in in_blocks(page):
        try:
            check_line(line)
        except (AssertionError, click.UsageError) as error:
            problems.append(f"steelyard {line}: {error}")
    assert problems == []


@pytest.mark.parametrize("page", [page for page in PAGES if in_prose(page)], ids=show_path)
def test_the_commands_in_sentences_have_their_options(page):
    for line in in_prose(page):
        command, rest = find_command([word for word in split(line) if not word.isupper()])
        options = {option for param in command.params for option in param.opts}
        named = [word.partition("=")[0] for word in rest[: (*rest, "--").index("--")] if word.startswith("-")]
        assert set(named) <= options | {"-h", "--help"}, line


def test_a_mistake_is_noticed():
    with pytest.raises(AssertionError, match="no command 'rnu'"):
        check_line("rnu file.yaml")
    with pytest.raises(click.NoSuchOption):
        check_line("cluster run --no-such-option  # a comment")
    with pytest.raises(AssertionError, match=r"examples/none\.yaml"):
        check_line("run examples/none.yaml; echo $?")
