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
    from steelyard.spec.stores import chosen_store

    found = clean(chosen_store(store))
    for path in found.removed:
        echo(f"removed {path}")
    for text in found.rented:
        echo(f"ended the rented machine {text}")
    for text in found.kept:
        echo(f"kept {text}", err=True)
    echo(f"{found.ended} processes ended, {len(found.removed)} scratch directories removed")
    return 3 if found.kept else 0
