"""docs/reference/commands.md: every command with its options and examples, from click's own objects."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click
from scripts.pages.table import code, rows

from steelyard.cli.app import group

PATH = "reference/commands.md"
HEAD = """\
# Commands

`make pages` writes this page; `steelyard COMMAND --help` prints the same. Every command
also takes `-h` and `--help`.
"""


def pages() -> dict[str, str]:
    """The page by its path in docs/."""
    contexts = list(walk(click.Context(group, info_name="steelyard", **group.context_settings)))
    links = " · ".join(f"[{_name(each)}](#{_anchor(each)})" for each in contexts[1:])
    sections = [line for context in contexts for line in _section(context)]
    return {PATH: "\n".join([HEAD, links, *sections]) + "\n"}


def walk(context: click.Context) -> Iterator[click.Context]:
    """A command and all below it, each as a context that knows its whole name."""
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            if command := context.command.get_command(context, name):
                yield from walk(click.Context(command, info_name=name, parent=context))


def _section(context: click.Context) -> Iterator[str]:
    usage = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
    yield from ("", f"## {context.command_path}", "", "```text", usage, "```")
    for paragraph in inspect.cleandoc(context.command.help or "").split("\n\n"):
        yield from ("", *_paragraph(paragraph))
    options = [each for each in context.command.params if isinstance(each, click.Option)]
    yield from rows(("option", "default", ""), (_option(option, context) for option in options))


def _paragraph(text: str) -> Iterator[str]:
    """What click leaves as it is, after `\\b`, are examples."""
    if not text.startswith("\b\n"):
        yield from text.splitlines()
        return
    lines = (re.sub(r"^(steelyard .*?\S) {2,}(?=\w)", r"\1   # ", line) for line in text.splitlines()[1:])
    yield from ("```console", *lines, "```")


def _option(option: click.Option, context: click.Context) -> tuple[str, str, str]:
    names, _ = option.get_help_record(context) or ("", "")  # None for a hidden option
    about, _, default = (option.help or "").replace("  [default: ", " [default: ").partition(" [default: ")
    extra = option.get_help_extra(context)
    if "range" in extra:
        about += f" ({extra['range'].replace('x>=', 'at least ')})"
    shown = "required" if option.required else extra.get("default") or default.removesuffix("]")
    return ", ".join(map(code, names.split(", "))), shown, about


def _name(context: click.Context) -> str:
    return context.command_path.partition(" ")[2]


def _anchor(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")
