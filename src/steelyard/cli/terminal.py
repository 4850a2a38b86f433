"""The way to standard output and standard error: no other module prints, which `make check` holds.

Whatever is printed may quote a stranger, so all of it passes `make_printable`. The one exception is an
application that a user runs on a cluster: its output is what he asked to see, byte by byte
(`cli.clusters.show`).
"""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from typing import Any

import click

from steelyard.printable import make_printable


def echo(what: object = "", *, err: bool = False, nl: bool = True, colour: str | None = None) -> None:
    """Print a text as it reads; `err`: to standard error; `nl`: with a line feed."""
    text = make_printable(str(what))
    click.echo(click.style(text, fg=colour) if colour else text, err=err, nl=nl)


def outlive_readers() -> None:
    """Let nothing end when whoever reads has gone, as in `steelyard run … | head`; the rest goes nowhere."""
    for name in ("stdout", "stderr"):
        if stream := getattr(sys, name):  # None where it is closed
            buffer = io.BufferedWriter(_Unread(stream.fileno(), "wb", closefd=False))
            text = io.TextIOWrapper(
                buffer, stream.encoding, stream.errors, line_buffering=stream.line_buffering
            )
            setattr(sys, name, text)


class _Unread(io.FileIO):
    """A stream whose reader may go."""

    def write(self, data: Any, /) -> int:
        """All of it, where nobody reads any more."""
        with suppress(BrokenPipeError):
            return super().write(data)
        return memoryview(data).nbytes


def confirm(question: str) -> None:
    """Go on only if whoever sits there says yes. Raises click.Abort."""
    click.confirm(make_printable(question), abort=True)
