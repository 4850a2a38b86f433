"""`steelyard compare`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from steelyard.cli.options import found_run, json_option, print_json, run_argument, store_option
from steelyard.cli.terminal import echo
from steelyard.errors import UsageError

if TYPE_CHECKING:
    from steelyard.analysis.compare import RunComparison


@click.command()
@run_argument("before")
@run_argument("after", required=False)
@click.option(
    "-m", "--metric", "metrics", multiple=True, metavar="NAME", help="Compare this metric; repeatable"
)
@click.option(
    "--fail-on",
    type=click.Choice(["worse"]),
    help="Exit with 1 when any cell is worse, or gives no answer; for CI",
)
@click.option(
    "--allow",
    type=click.Choice(["failed", "missing", "few"]),
    multiple=True,
    help="With --fail-on, let pass cells of which trials failed, that are missing, or have too few trials",
)
@click.option("--with", "other", metavar="published:ID", help="Set one run beside a published result instead")
@store_option
@json_option
def command(
    before: str,
    after: str | None,
    metrics: tuple[str, ...],
    fail_on: str | None,
    allow: tuple[str, ...],
    other: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Compare the run AFTER with the run BEFORE, cell by cell.

    \b
    steelyard compare 20261120-184512-ska1-7f3a last
    steelyard compare baseline-run last --fail-on worse --metric write_bandwidth
    steelyard compare baseline-run last --fail-on worse --allow few
    steelyard compare last --with published:fermilab-2015/table-1

    Each cell gets the ratio of medians with its interval and a rank test, corrected for the number of
    comparisons: better, worse, no detectable difference, or too few trials.

    With --fail-on a cell passes that was compared and is not worse. One in which a trial of AFTER failed,
    that only one run has or measured, or with too few trials for an answer does not, unless --allow says so.

    A published result was measured elsewhere with other programs, so with --with only shapes are compared:
    efficiency losses, orders of machines, knees.
    """
    if other is not None:
        _only_one(after, metrics, fail_on, allow)
        return _beside(store, before, other, as_json=as_json)
    if after is None:
        hint = "steelyard compare BEFORE AFTER, or steelyard compare RUN --with published:ID"
        raise UsageError("a second run is missing", hint=hint)
    if allow and not fail_on:
        raise UsageError("--allow says what --fail-on lets pass; give --fail-on worse, too")
    return _two(store, (before, after), metrics, allow if fail_on else None, as_json=as_json)


def _two(
    store: str | None,
    names: tuple[str, str],
    metrics: tuple[str, ...],
    allowed: tuple[str, ...] | None,
    *,
    as_json: bool,
) -> int:
    """Compare two runs; the exit code. `allowed`: what a gate lets pass, None where there is no gate."""
    from steelyard.analysis.compare import compare_runs
    from steelyard.report.comparison import comparison_lines
    from steelyard.report.plain import plain_comparison
    from steelyard.store.reader import RunRecord

    records = [RunRecord(found_run(store, name)) for name in names]
    found = compare_runs(records[0], records[1], metrics=metrics or None)
    if as_json:
        print_json(plain_comparison(found))
    else:
        echo("\n".join(comparison_lines(found)))
    return 0 if allowed is None else _gate(found, allowed)


def _gate(found: RunComparison, allowed: tuple[str, ...]) -> int:
    """Say what does not pass; the exit code."""
    from steelyard.analysis.gate import objections
    from steelyard.report.comparison import gate_lines

    if against := objections(found, allowed):
        echo("\n".join(gate_lines(against)), err=True)
        return 1
    if not found.compared:
        echo("nothing could be compared, so --fail-on has no answer", err=True)
        return 2
    return 0


def _only_one(
    after: str | None, metrics: tuple[str, ...], fail_on: str | None, allow: tuple[str, ...]
) -> None:
    """A published result takes the place of the second run, and of what is asked about that."""
    options = ((metrics, "--metric"), (fail_on, "--fail-on"), (allow, "--allow"))
    for given, what in ((after, "a second run"), *options):
        if given:
            raise UsageError(f"--with compares one run with a published result; {what} has no place there")


def _beside(store: str | None, name: str, other: str, *, as_json: bool) -> int:
    """Set a run beside a published result; the exit code."""
    from steelyard.analysis.beside import set_beside
    from steelyard.analysis.published import PREFIX, published
    from steelyard.analysis.summary import summarise_run
    from steelyard.report.beside import beside_lines
    from steelyard.report.plain import plain_beside
    from steelyard.store.reader import RunRecord

    if not other.startswith(PREFIX):
        hint = f"for example --with {PREFIX}fermilab-2015/table-1; two runs need no --with"
        raise UsageError(f"--with {other}: it begins with '{PREFIX}'", hint=hint)
    theirs = published(other)
    record = RunRecord(found_run(store, name))
    found = set_beside(record, summarise_run(record), theirs)
    if as_json:
        print_json(plain_beside(found))
    else:
        echo("\n".join(beside_lines(found)))
    return 0
