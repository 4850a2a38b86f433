"""`steelyard list`"""

from __future__ import annotations

import dataclasses
import time

import click

from steelyard.cli.options import json_option, print_json, store_option
from steelyard.cli.terminal import echo


@click.command()
@click.option("-n", "--newest", type=click.IntRange(1), default=20, show_default=True, help="How many runs")
@click.option("--all", "every", is_flag=True, help="List all runs")
@store_option
@json_option
def command(newest: int, every: bool, store: str | None, as_json: bool) -> int:
    """List the runs in the store, newest last.

    \b
    steelyard list
    steelyard list --all --json
    """
    from steelyard.spec.stores import choose_store
    from steelyard.store.reader import glance

    where = choose_store(store)
    folders = where.list_runs()
    shown = [glance(folder) for folder in (folders if every else folders[-newest:])]
    if as_json:
        print_json([dataclasses.asdict(run) for run in shown])
        return 0
    if not shown:
        echo(f"no runs in {where.root}; `steelyard run FILE` creates one", err=True)
        return 0
    width = max(len(run.run) for run in shown)
    for run in shown:
        started = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started)) if run.started else "-"
        failed = f", {run.failed} failed" if run.failed else ""
        echo(f"{run.run:{width}}  {started}  {run.state:11}  {run.trials} trials{failed}")
    if len(shown) < len(folders):
        echo(f"and {len(folders) - len(shown)} older ones; --all shows them", err=True)
    return 0
