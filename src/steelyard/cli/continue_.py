"""`steelyard continue`"""

from __future__ import annotations

import click

from steelyard.cli.options import find_run, run_argument, store_option
from steelyard.cli.terminal import echo


@click.command()
@run_argument()
@store_option
def command(run: str, store: str | None) -> int:
    """Continue RUN after `steelyard suspend`, or its suspended or held job.

    \b
    steelyard continue last
    """
    from steelyard.controller.control.steer import steer

    echo(steer(find_run(store, run), "continue"))
    return 0
