"""`steelyard suspend`"""

from __future__ import annotations

import click

from steelyard.cli.options import find_run, run_argument, store_option
from steelyard.cli.terminal import echo


@click.command()
@run_argument()
@store_option
def command(run: str, store: str | None) -> int:
    """Suspend the job of RUN where its scheduler allows it; a job that waits is held.

    \b
    steelyard suspend last

    A trial that is suspended takes longer: its figures are those of a disturbed one.
    """
    from steelyard.controller.steer import steer

    echo(steer(find_run(store, run), "suspend"))
    return 0
