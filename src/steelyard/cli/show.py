"""`steelyard show`"""

from __future__ import annotations

import click

from steelyard.cli.options import (
    disturbed_option,
    find_run,
    json_option,
    metric_option,
    outliers_option,
    run_argument,
    store_option,
)
from steelyard.model.trial import Disturbed
from steelyard.stats.outliers import Policy


@click.command()
@run_argument(default="last")
@click.option(
    "--trial", type=click.IntRange(1), metavar="N", help="One trial: commands, exit codes, figures, files"
)
@outliers_option
@metric_option("Show only this metric; repeatable; a pattern such as 'latency_*' is allowed")
@click.option("--with-disturbed", is_flag=True, help="Also show each cell with its disturbed trials counted")
@disturbed_option
@store_option
@json_option
def command(
    run: str,
    trial: int | None,
    outliers: Policy | None,
    metrics: tuple[str, ...],
    with_disturbed: bool,
    disturbed: Disturbed | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Show the results of RUN: an id or the beginning of one, a path, or `last`; or of a suite.

    Without RUN, those of the newest run.

    \b
    steelyard show
    steelyard show last --trial 7
    steelyard show last --metric ratio --metric 'latency_*'
    steelyard show last --outliers mad
    steelyard show last --with-disturbed
    steelyard show last --disturbed include
    """
    from steelyard.analysis.findings import Findings
    from steelyard.cli.finish import print_results
    from steelyard.cli.options import print_json
    from steelyard.spec.stores import choose_store
    from steelyard.store.reader import RunRecord
    from steelyard.store.suites import find_suite

    where = choose_store(store)
    if suite := find_suite(where, run):
        from steelyard.cli.suites import show_suite

        show_suite(suite, where, as_json=as_json)
        return 0
    record = RunRecord(find_run(store, run), disturbed=disturbed)
    if trial is not None:
        print_json(record.trial_page(trial))
        return 0
    print_results(Findings(record, outliers, metrics), as_json=as_json, both=with_disturbed)
    return 0
