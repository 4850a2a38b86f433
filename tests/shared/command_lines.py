"""Command lines of ours as they stand on pages."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import takewhile

import click

from pages import ROOT
from steelyard.cli.app import group


def split(line: str) -> list[str]:
    """The words of the first command of a line, without its comment."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&<>")
    lexer.whitespace_split = True
    return list(takewhile(lambda word: not set(word) <= set(";|&<>"), lexer))


def find_command(words: Sequence[str]) -> tuple[click.Command, Sequence[str]]:
    """The command or action that the words begin with, and the words after it."""
    command, context = group, click.Context(group)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        command = command.get_command(context, words[0])
        assert command, f"no command {words[0]!r}"
        context, words = click.Context(command, info_name=words[0], parent=context), words[1:]
    return command, words


def check_line(line: str) -> None:
    """Raises AssertionError or UsageError for what the program would not understand."""
    words = split(line)
    command, rest = find_command(words)
    command.make_context(words[0], rest)
    missing = [word for word in words if re.match(r"examples/[\w./-]+$", word) and not (ROOT / word).exists()]
    assert not missing, missing
