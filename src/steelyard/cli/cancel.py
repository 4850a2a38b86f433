"""`steelyard cancel`"""

from __future__ import annotations

import click

from steelyard.cli.options import find_run, run_argument, store_option
from steelyard.cli.terminal import echo


@click.command()
@run_argument()
@store_option
def command(run: str, store: str | None) -> int:
    """Cancel RUN: cancel its batch job, or shut down its controller on this machine cleanly.

    \b
    steelyard cancel last

    Finished trials are kept, and `steelyard resume` continues the run.
    """
    from steelyard.controller.control.steer import steer

    echo(steer(find_run(store, run), "cancel"))
    return 0
