"""`steelyard list`"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import json_option, print_json, store_option
from steelyard.cli.terminal import echo
from steelyard.units import format_count

if TYPE_CHECKING:
    from steelyard.store.layout import RunFolder, Store
    from steelyard.store.reader import Glance
    from steelyard.store.suites import SuiteFolder


@click.command()
@click.option("-n", "--newest", type=click.IntRange(1), default=20, show_default=True, help="How many runs")
@click.option("--all", "every", is_flag=True, help="List all runs")
@click.option("--suites", is_flag=True, help="List suites instead of runs")
@store_option
@json_option
def command(newest: int, every: bool, suites: bool, store: str | None, as_json: bool) -> int:
    """List the runs in the store, newest last.

    \b
    steelyard list
    steelyard list --all --json
    steelyard list --suites
    """
    from steelyard.spec.stores import choose_store
    from steelyard.store.suites import list_suites

    where = choose_store(store)
    begun = list_suites(where)
    first = 0 if every else -newest
    if suites:
        _list_suites(begun, first, where, as_json=as_json)
    else:
        _list_runs(where.list_runs(), first, where, as_json=as_json)
        if begun and not as_json:
            echo(f"and {format_count(len(begun), 'suite')}; --suites lists suites", err=True)
    return 0


def _list_runs(folders: Sequence[RunFolder], first: int, store: Store, *, as_json: bool) -> None:
    from steelyard.store.reader import glance

    shown = [glance(folder) for folder in folders[first:]]
    if as_json:
        print_json([dataclasses.asdict(run) for run in shown])
    elif shown:
        _print([(run.run, run.started, run.state, _count_trials(run)) for run in shown], len(folders))
    else:
        echo(f"no runs in {store.root}; `steelyard run FILE` creates one", err=True)


def _count_trials(run: Glance) -> str:
    return format_count(run.trials, "trial") + (f", {run.failed} failed" if run.failed else "")


def _list_suites(folders: Sequence[SuiteFolder], first: int, store: Store, *, as_json: bool) -> None:
    from steelyard.suites.progress import read_progress

    shown = [read_progress(folder, store) for folder in folders[first:]]
    if as_json:
        print_json([dataclasses.asdict(suite) for suite in shown])
    elif shown:
        _print([(suite.id, suite.began, suite.state, suite.describe()) for suite in shown], len(folders))
    else:
        echo(f"no suites in {store.root}; `steelyard run suite.yaml` creates one", err=True)


def _print(rows: Sequence[tuple[str, float, str, str]], of: int) -> None:
    """A line each, and how many more there are."""
    width = max(len(name) for name, *_ in rows)
    for name, began, state, told in rows:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(began)) if began else "-"
        echo(f"{name:{width}}  {when}  {state:11}  {told}")
    if len(rows) < of:
        echo(f"and {of - len(rows)} older ones; --all shows them", err=True)
