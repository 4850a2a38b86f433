"""`steelyard cancel`"""

from __future__ import annotations

import click

from steelyard.cli.options import find_run, run_argument, store_option
from steelyard.cli.terminal import echo


@click.command()
@run_argument()
@store_option
def command(run: str, store: str | None) -> int:
    """End RUN: cancel its job, or stop its controller on this machine in good order.

    \b
    steelyard cancel last

    What had finished is kept, and `steelyard resume` goes on with it.
    """
    from steelyard.controller.steer import steer

    echo(steer(find_run(store, run), "cancel"))
    return 0
