"""The way to standard output and standard error: no other module prints, which `make check` holds.

Whatever is printed may quote a stranger, so all of it passes `printable`. The one exception is an application
that a user runs on a cluster: its output is what he asked to see, byte by byte (`cli.clusters.show`).
"""

from __future__ import annotations

import click

from steelyard.printable import printable


def echo(what: object = "", *, err: bool = False, nl: bool = True, colour: str | None = None) -> None:
    """Print a text as it reads; `err`: to standard error; `nl`: with a line feed."""
    text = printable(str(what))
    click.echo(click.style(text, fg=colour) if colour else text, err=err, nl=nl)


def confirm(question: str) -> None:
    """Go on only if whoever sits there says yes. Raises click.Abort."""
    click.confirm(printable(question), abort=True)
