"""`steelyard suspend`"""

from __future__ import annotations

import click

from steelyard.cli.options import find_run, run_argument, store_option
from steelyard.cli.terminal import echo


@click.command()
@run_argument()
@store_option
def command(run: str, store: str | None) -> int:
    """Suspend RUN: no new trial begins until `steelyard continue`.

    \b
    steelyard suspend last

    A trial that is running is finished first. Unless services are up, the run gives this machine's turn back,
    so another run may measure meanwhile. A run in a batch job is suspended by its scheduler, if that allows
    it, in the middle of a trial: treat the figures of that trial as disturbed. A pending job is held.
    """
    from steelyard.controller.control.steer import steer

    echo(steer(find_run(store, run), "suspend"))
    return 0
