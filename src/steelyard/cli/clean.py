"""`steelyard clean`"""

from __future__ import annotations

import click

from steelyard.cli.options import store_option
from steelyard.cli.terminal import echo


@click.command()
@store_option
def command(store: str | None) -> int:
    """End the processes and rented machines, remove the scratch directories that dead runs left behind.

    Safe at any time: runs that live are not touched, and records are kept.
    """
    from steelyard.controller.clean import clean
    from steelyard.spec.stores import choose_store

    report = clean(choose_store(store))
    for path in report.removed:
        echo(f"removed {path}")
    for text in report.rented:
        echo(f"ended the rented machine {text}")
    for text in report.kept:
        echo(f"kept {text}", err=True)
    echo(f"{report.ended} processes ended, {len(report.removed)} scratch directories removed")
    return 3 if report.kept else 0
