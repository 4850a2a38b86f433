"""`steelyard suspend`"""

from __future__ import annotations

import click

from steelyard.cli.options import find_run, run_argument, store_option
from steelyard.cli.terminal import echo


@click.command()
@run_argument()
@store_option
def command(run: str, store: str | None) -> int:
    """Suspend the batch job of RUN if its scheduler allows it; a pending job is held.

    \b
    steelyard suspend last

    A suspended trial takes longer: treat its figures as disturbed.
    """
    from steelyard.controller.control.steer import steer

    echo(steer(find_run(store, run), "suspend"))
    return 0
