"""Every command line of ours on a page is one that the program understands."""

from __future__ import annotations

import re
import shlex
from itertools import takewhile

import click
import pytest

from pages import PAGES, ROOT, blocks, prose, show_path
from steelyard.cli.app import group


def split(line):
    """The words of the first command of a line, without its comment."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&<>")
    lexer.whitespace_split = True
    return list(takewhile(lambda word: not set(word) <= set(";|&<>"), lexer))


def in_blocks(page):
    for block in blocks(page, "console", "sh", "bash", "shell"):
        for line in block.replace("\\\n", " ").splitlines():
            if match := re.match(r"\s*(?:\$ )?steelyard +(.+)", line):
                yield match[1]


def in_prose(page):
    return [" ".join(line.split()) for line in re.findall(r"`steelyard ([^`]+)`", prose(page))]


def find_command(words):
    """The command or action that the words begin with, and the words after it."""
    command, context = group, click.Context(group)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        command = command.get_command(context, words[0])
        assert command, f"no command {words[0]!r}"
        context, words = click.Context(command, info_name=words[0], parent=context), words[1:]
    return command, words


def check_line(line):
    """Raises AssertionError or UsageError for what the program would not understand."""
    words = split(line)
    command, rest = find_command(words)
    command.make_context(words[0], rest)
    missing = [word for word in words if re.match(r"examples/[\w./-]+$", word) and not (ROOT / word).exists()]
    assert missing == []


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
