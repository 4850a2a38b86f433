"""`steelyard cancel`"""

from __future__ import annotations

import click

from steelyard.cli.options import find_run, run_argument, store_option
from steelyard.cli.terminal import echo


@click.command()
@run_argument()
@click.option(
    "--force", is_flag=True, help="End a controller that does not answer: SIGTERM, after 10 s SIGKILL"
)
@store_option
def command(run: str, force: bool, store: str | None) -> int:
    """Cancel RUN: cancel its batch job, or have its controller shut down cleanly.

    \b
    steelyard cancel last
    steelyard cancel --force last     # it does not answer

    Finished trials are kept, and `steelyard resume` continues the run.
    """
    from steelyard.controller.control.steer import steer

    echo(steer(find_run(store, run), "cancel", force=force))
    return 0
