"""`steelyard init`"""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.terminal import echo
from steelyard.errors import UsageError


@click.command()
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write here instead of to stdout"
)
@click.option("-f", "--force", is_flag=True, help="Replace FILE if it exists")
def command(words: tuple[str, ...], output: str | None, force: bool) -> int:
    """Write a commented experiment file for your command.

    \b
    steelyard init > mine.yaml
    steelyard init -o solver.yaml -- ./solver --threads '{1,2,4}'
    """
    from steelyard.spec.first_experiment import fill_template

    text = fill_template(words or ("sleep", "{0.1,0.2}"), output or "FILE")
    if output is None:
        echo(text, nl=False)
        return 0
    if Path(output).exists() and not force:
        raise UsageError(f"{output} already exists", hint="--force replaces it")
    Path(output).write_text(text, encoding="utf-8")
    echo(f"wrote {output}; `steelyard plan {output}` shows what it would run", err=True)
    return 0
