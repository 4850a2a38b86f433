"""`steelyard schema`"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from steelyard.cli.options import complete_name, json_option, print_json
from steelyard.cli.terminal import echo
from steelyard.errors import SteelyardError

if TYPE_CHECKING:
    from steelyard.spec.keys import Key

WIDTH = 100


class KeyName(click.ParamType[str]):
    """A key of an experiment file. Completes below what is there: `repeat.u` becomes `repeat.until`."""

    name = "key"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The keys that begin so."""
        from steelyard.spec.keys import explain_key, key_names

        above, dot, _ = incomplete.rpartition(".")
        names: list[str] = []
        with suppress(SteelyardError):  # there is nobody to tell it to
            names = [f"{above}.{name}" for name in explain_key(above).inside] if dot else key_names()
        return complete_name(incomplete, names)


@click.command()
@click.argument("key", required=False, type=KeyName())
@json_option
def command(key: str | None, as_json: bool) -> int:
    """Explain a KEY of experiment files, or print their JSON Schema, for editors.

    \b
    steelyard schema repeat
    steelyard schema repeat.until.within
    steelyard schema ska1.outstanding        an option of a workload, service or event
    steelyard schema > steelyard.schema.json
    # then, as the first line of a file, for editors with a YAML language server:
    # yaml-language-server: $schema=steelyard.schema.json
    """
    if key is None:
        from steelyard.spec.schema import schema

        print_json(schema())
        return 0
    from steelyard.spec.keys import explain_key

    entry = explain_key(key)
    if as_json:
        print_json(dataclasses.asdict(entry))
    else:
        echo("\n".join(_lines(entry)))
    return 0


def _lines(key: Key) -> Iterator[str]:
    yield from textwrap.wrap(f"{key.path}: {key.about}" if key.about else key.path, WIDTH)
    facts = {"takes": key.takes, "default": "none; required" if key.default is None else key.default}
    yield from (f"{name:9}{text}" for name, text in facts.items() if text)
    if key.example:
        yield from ("", "example:", textwrap.indent(key.example, "  "))
    if key.inside:
        wide = min(24, max(map(len, key.inside)))
        yield from ("", f"keys inside; see `steelyard schema {key.path}.KEY`:")
        for name, about in key.inside.items():
            indent = " " * (wide + 4)
            yield textwrap.fill(f"  {name:{wide}}  {about}".rstrip(), WIDTH, subsequent_indent=indent)
