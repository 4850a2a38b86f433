"""`steelyard compare`"""

from __future__ import annotations

import click

from steelyard.cli.options import found_run, json_option, print_json, run_argument, store_option


@click.command()
@run_argument("before")
@run_argument("after")
@click.option(
    "-m", "--metric", "metrics", multiple=True, metavar="NAME", help="Compare this metric; repeatable"
)
@click.option("--fail-on", type=click.Choice(["worse"]), help="Exit with 1 when any cell is worse; for CI")
@store_option
@json_option
def command(
    before: str, after: str, metrics: tuple[str, ...], fail_on: str | None, store: str | None, as_json: bool
) -> int:
    """Compare the run AFTER with the run BEFORE, cell by cell.

    \b
    steelyard compare 20261120-184512-ska1-7f3a last
    steelyard compare baseline-run last --fail-on worse --metric write_bandwidth

    Each cell gets the ratio of medians with its interval and a rank test, corrected for the number of
    comparisons: better, worse, no detectable difference, or too few trials.
    """
    from steelyard.analysis.compare import compare_runs
    from steelyard.report.comparison import comparison_lines
    from steelyard.report.plain import plain_comparison
    from steelyard.stats.verdict import Verdict
    from steelyard.store.reader import RunRecord

    records = [RunRecord(found_run(store, name)) for name in (before, after)]
    found = compare_runs(records[0], records[1], metrics=metrics or None)
    if as_json:
        print_json(plain_comparison(found))
    else:
        click.echo("\n".join(comparison_lines(found)))
    return 1 if fail_on and found.having(Verdict.WORSE) else 0
