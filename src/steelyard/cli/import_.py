"""`steelyard import`"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from steelyard.cli.options import store_option
from steelyard.cli.terminal import echo
from steelyard.errors import UsageError


@click.command()
@click.argument("source", metavar="STORE", type=click.Path(file_okay=False, path_type=Path))
@click.option("--experiment", metavar="NAME", default="", help="Import only the runs of this experiment")
@click.option("--light", is_flag=True, help="Leave out what trials and services wrote: figures suffice")
@store_option
def command(source: Path, experiment: str, light: bool, store: str | None) -> int:
    """Import the runs of another STORE, and the decisions about them.

    \b
    steelyard import ci-artefact/steelyard-runs        so that history outlives the machines of CI
    steelyard import /mnt/colleague/steelyard-runs --experiment nightly
    steelyard import ../old-store --light              without outputs: a few kilobytes per run

    A run that is here already is left as it is. An imported run can be shown, compared and reported; `resume`
    and `extend` refuse it, because they would run a stranger's commands.
    """
    from steelyard.spec.stores import choose_store
    from steelyard.store.importing import HERE, Importer
    from steelyard.store.layout import Store
    from steelyard.store.reader import glance

    target = choose_store(store)
    if source.resolve() == target.root.resolve():
        raise UsageError(f"{source} is this store; name another one")
    importer = Importer(Store(source), target, light)
    runs = [run for run in importer.list_runs() if not experiment or glance(run).title == experiment]
    if not runs:
        echo(f"no runs {f'of {experiment} ' if experiment else ''}in {source}", err=True)
        return 0
    with click.progressbar(runs, label="import", file=sys.stderr, hidden=not sys.stderr.isatty()) as shown:
        outcomes = [importer.take(run) for run in shown]
    decisions = importer.take_decisions()
    for run, reason in outcomes:
        if reason and reason != HERE:
            echo(f"{run}: {reason}", err=True)
    taken, here = (sum(reason == why for _, reason in outcomes) for why in ("", HERE))
    already = f", {here} were here already" if here else ""
    echo(f"{taken} of {len(outcomes)} runs imported into {target.root}{already}; {decisions} decisions")
    return 0
