"""`steelyard extend`"""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import (
    find_run,
    json_option,
    level_option,
    notify_option,
    quiet_option,
    run_argument,
    site_option,
    store_option,
)
from steelyard.cli.terminal import echo
from steelyard.errors import UsageError
from steelyard.spec.levels import parse_levels


@click.command()
@run_argument()
@level_option("Levels to add")
@click.option(
    "--repeat", type=click.IntRange(1), metavar="N", help="Total repetitions of each cell; more than before"
)
@site_option("Where to measure; by default, where the run started")
@click.option("--scratch", metavar="DIR", type=click.Path(file_okay=False), help="Directory for test data")
@click.option("--beside", is_flag=True, help="Do not wait for another run on this machine; mark the trials")
@notify_option
@quiet_option
@store_option
@json_option
def command(
    run: str,
    levels: tuple[str, ...],
    repeat: int | None,
    site: str | None,
    scratch: str | None,
    beside: bool,
    notify: tuple[str, ...],
    quiet: bool,
    store: str | None,
    as_json: bool,
) -> int:
    """Add levels or repetitions to RUN and measure only the new trials.

    \b
    steelyard extend last -p outstanding=128,256
    steelyard extend last --repeat 12

    Earlier trials are kept. A run that goes on measures what is added after its current trial. The new trials
    run later than the old ones, so be careful when comparing trials made far apart in time; the journal
    records when each trial ran.
    """
    from steelyard.cli.finish import finish
    from steelyard.cli.notifying import make_notifier, read_rules
    from steelyard.cli.progress import make_observer
    from steelyard.controller.choices import RunChoices
    from steelyard.controller.control.steer import ask
    from steelyard.controller.run import extend
    from steelyard.spec.stores import choose_store
    from steelyard.store.writer import is_live

    if not levels and repeat is None:
        raise UsageError("nothing to add", hint="for example: -p outstanding=128, or --repeat 12")
    folder = find_run(store, run)
    if is_live(folder):
        ask(folder, "extend", levels=parse_levels(levels), repeat=repeat)
        echo(f"run {folder.id}: it acknowledged; what is added follows the trial that is running")
        return 0
    notifier = make_notifier(notify, rules=read_rules(folder))
    with notifier.watch():
        extend(
            folder,
            choose_store(store),
            levels=parse_levels(levels),
            repeat=repeat,
            choices=RunChoices(site, Path(scratch) if scratch else None, beside),
            observer=notifier.observe(make_observer(quiet=quiet or as_json)),
        )
    return finish(folder, as_json=as_json, undecided="fail", notifier=notifier)
