"""`steelyard rm`"""

from __future__ import annotations

import shutil

import click

from steelyard.cli.options import run_argument, store_option
from steelyard.cli.terminal import confirm, echo
from steelyard.errors import RunBusy


@click.command()
@run_argument("runs", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation")
@store_option
def command(runs: tuple[str, ...], yes: bool, store: str | None) -> int:
    """Remove RUNS from the store, with all their records.

    \b
    steelyard rm last
    steelyard rm --yes 20261120-184512-ska1-7f3a
    """
    from steelyard.spec.stores import choose_store
    from steelyard.store.writer import is_live

    folders = [choose_store(store).find(name) for name in dict.fromkeys(runs)]
    for folder in folders:
        if is_live(folder):
            raise RunBusy(f"run {folder.id} is still in progress", hint="stop it first: Ctrl-C where it runs")
    names = ", ".join(folder.id for folder in folders)
    if not yes:
        confirm(f"Permanently remove {names}?")
    for folder in folders:
        shutil.rmtree(folder.path)
    echo(f"removed {names}")
    return 0
