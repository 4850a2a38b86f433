"""`steelyard history`"""

from __future__ import annotations

import os
from pathlib import Path

import click

from steelyard.analysis.history.order import WALL
from steelyard.cli.options import ExperimentName, json_option, metric_option, print_json, store_option
from steelyard.cli.terminal import echo
from steelyard.store.decisions import Verdict
from steelyard.store.layout import account_name


@click.command()
@click.argument("experiment", type=ExperimentName())
@metric_option("Follow only this metric; repeatable; a pattern such as 'latency_*' is allowed")
@click.option(
    "--by",
    default=WALL,
    metavar="wall|TAG",
    help="Order of the runs: by time, or by a tag such as commit or version",
    show_default=True,
)
@click.option("--fail-on", type=click.Choice(["worse"]), help="Exit with 1 if a metric became worse; for CI")
@click.option("--expect", "expected", metavar="RUN", help="The change at RUN was meant")
@click.option("--ignore", "ignored", metavar="RUN", help="Leave RUN out of the history")
@click.option("--undo", "withdrawn", metavar="RUN", help="Take back what was said of RUN")
@click.option("--why", metavar="TEXT", default="", help="With --expect or --ignore: the reason")
@store_option
@json_option
def command(
    experiment: str,
    metrics: tuple[str, ...],
    by: str,
    fail_on: str | None,
    expected: str | None,
    ignored: str | None,
    withdrawn: str | None,
    why: str,
    store: str | None,
    as_json: bool,
) -> int:
    """Show how the results of an EXPERIMENT, by its name or FILE, changed from run to run.

    \b
    steelyard run nightly.yaml --tag commit=3f2a91c     a run for each commit, nightly or in CI
    steelyard history nightly                           where it became slower or faster
    steelyard history nightly.yaml --by version --metric 'latency_*'
    steelyard history nightly --fail-on worse           a gate: exit code 1 if it is worse and nobody said why
    steelyard history nightly --expect 20261120-184512-nightly-7f3a --why "checksums are on now"

    Each run counts once in each cell, by the median of its trials. A change is named if the runs since then
    differ from those before more than chance explains; that takes 8 runs, 4 on either side. Another machine,
    kernel or tool version begins a new segment: it is shown and never called a change.

    --by commit puts a commit that you measure again beside its first run. Decisions are kept in the store's
    history.ndjson, which you may put under version control.
    """
    from steelyard.analysis.history.decide import decide
    from steelyard.analysis.history.load import load_history
    from steelyard.report.history import history_lines, plain_history
    from steelyard.spec.stores import choose_store

    where, name = choose_store(store), _read_name(experiment)
    history = load_history(where, name, by=by, metrics=metrics)
    decided: dict[Verdict, str | None] = {"expected": expected, "ignored": ignored, "withdrawn": withdrawn}
    for verdict, run in decided.items():
        if run is not None:
            decide(where, history.find_run(run), verdict, why, account_name(os.geteuid()))
            history = load_history(where, name, by=by, metrics=metrics)
    if as_json:
        print_json(plain_history(history))
    else:
        echo("\n".join(history_lines(history)))
    if not fail_on:
        return 0
    if not history.newest_is_used:
        echo("does not pass: the newest run gives no figure", err=True)
        return 1
    return 1 if history.alarms else 0


def _read_name(experiment: str) -> str:
    """The experiment that is named, or that of a file."""
    if not experiment.endswith((".yaml", ".yml")):
        return experiment
    from steelyard.spec.load import load

    return load(Path(experiment))[0].experiment
