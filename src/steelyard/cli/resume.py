"""`steelyard resume`"""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import found_run, json_option, run_argument, site_option, store_option


@click.command()
@run_argument()
@site_option("Where to go on; by default where it began")
@click.option("--scratch", metavar="DIR", type=click.Path(file_okay=False), help="Where test data go")
@click.option("--beside", is_flag=True, help="Do not wait for another run on this machine; mark the trials")
@click.option("--undecided", type=click.Choice(["pass", "fail"]), default="fail", help="As for run")
@click.option("-q", "--quiet", is_flag=True, help="No progress")
@store_option
@json_option
def command(
    run: str,
    site: str | None,
    scratch: str | None,
    beside: bool,
    undecided: str,
    quiet: bool,
    store: str | None,
    as_json: bool,
) -> int:
    """Go on with RUN where its journal ends: after Ctrl-C, a crash, kill -9, a power cut or a full disk.

    \b
    steelyard resume last

    Finished trials are kept; one that was cut off is made again. The order is that of the first sitting.
    """
    from steelyard.cli.finish import finish
    from steelyard.cli.progress import observer
    from steelyard.controller.sitting import Choices, resume
    from steelyard.store.layout import Store

    folder = found_run(store, run)
    choices = Choices(site, Path(scratch) if scratch else None, beside)
    resume(folder, Store.chosen(store), choices=choices, observer=observer(quiet=quiet or as_json))
    return finish(folder, as_json=as_json, undecided=undecided)
