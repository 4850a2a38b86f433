"""`steelyard status`"""

from __future__ import annotations

import click

from steelyard.cli.options import find_run, json_option, print_json, run_argument, store_option
from steelyard.cli.terminal import echo


@click.command()
@run_argument(default="last")
@store_option
@json_option
def command(run: str, store: str | None, as_json: bool) -> int:
    """Show the progress of RUN, by default the newest, and the scheduler's report on its job.

    \b
    steelyard status
    """
    from steelyard.controller.control.steer import status

    report = status(find_run(store, run))
    if as_json:
        print_json(report)
    else:
        echo("\n".join(str(report[key]) for key in ("run", "job", "last") if report.get(key)))
    return 0
