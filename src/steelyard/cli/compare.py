"""`steelyard compare`"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import click

from steelyard.cli.options import (
    found_run,
    json_option,
    metric_option,
    print_json,
    run_argument,
    store_option,
)
from steelyard.cli.terminal import echo
from steelyard.errors import UsageError
from steelyard.units import Share

if TYPE_CHECKING:
    from steelyard.analysis.compare import RunComparison
    from steelyard.store.reader import RunRecord


@click.command()
@run_argument("before")
@run_argument("after", required=False)
@metric_option("Compare this metric; repeatable, and may be a pattern such as 'latency_*'")
@click.option(
    "--across", is_flag=True, help="Compare runs of different machines, sites or tool versions, too"
)
@click.option(
    "--fail-on",
    type=click.Choice(["worse"]),
    help="Exit with 1 when any cell is worse, or gives no answer; for CI",
)
@click.option(
    "--margin",
    metavar="SHARE",
    help="With --fail-on, pass only cells whose change is shown to be no worse than this, such as 5%",
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
    across: bool,
    fail_on: str | None,
    margin: str | None,
    allow: tuple[str, ...],
    other: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Compare the run AFTER with the run BEFORE, cell by cell.

    \b
    steelyard compare 20261120-184512-ska1-7f3a last
    steelyard compare base-1,base-2,base-3 new-1,new-2,new-3
    steelyard compare baseline-run last --fail-on worse --metric write_bandwidth
    steelyard compare baseline-run last --fail-on worse --margin 5%
    steelyard compare last --with published:fermilab-2015/table-1

    Each cell gets the ratio of medians with its interval and a test, corrected for the number of
    comparisons: better, worse, no detectable difference, or too few trials. A trial that failed counts as
    worse than any figure.

    Several runs on a side, parted by commas, take in how runs differ from each other. With one run a side
    nobody knows whether the next run would say the same; measure both programs in one run, as levels of a
    parameter, or run each several times.

    With --fail-on a cell passes that was compared and is not worse. One in which a trial of AFTER failed,
    that some run lacks or did not measure, or with too few trials for an answer does not, unless --allow
    says so. With --margin a cell passes only if the whole interval of its change stays within the margin.

    Runs of another workload are refused, and those of another machine or tool version unless --across is
    given. A published result was measured elsewhere with other programs, so with --with only shapes are
    compared: efficiency losses, orders of machines, knees.
    """
    if other is not None:
        _only_one(
            after,
            {
                "--metric": metrics,
                "--across": across,
                "--fail-on": fail_on,
                "--allow": allow,
                "--margin": margin,
            },
        )
        return _beside(store, before, other, as_json=as_json)
    if after is None:
        hint = "steelyard compare BEFORE AFTER, or steelyard compare RUN --with published:ID"
        raise UsageError("a second run is missing", hint=hint)
    gate = _Gate(allow, None if margin is None else _share(margin)) if fail_on else None
    for given, name in ((allow, "--allow"), (margin, "--margin")):
        if given and not gate:
            raise UsageError(f"{name} says what --fail-on lets pass; give --fail-on worse, too")
    return _compare(store, (before, after), metrics, gate, across=across, as_json=as_json)


class _Gate(NamedTuple):
    """What --fail-on lets pass."""

    allowed: tuple[str, ...]
    margin: float | None


def _share(margin: str) -> float:
    share = Share.parse(margin)
    if not 0 < share < 1:
        raise UsageError(f"--margin {margin} must lie between 0% and 100%", hint="for example --margin 5%")
    return share


def _compare(
    store: str | None,
    sides: tuple[str, str],
    metrics: tuple[str, ...],
    gate: _Gate | None,
    *,
    across: bool,
    as_json: bool,
) -> int:
    """Compare the runs of two sides; the exit code."""
    from steelyard.analysis.compare import compare_runs
    from steelyard.report.comparison import comparison_lines
    from steelyard.report.plain import plain_comparison

    a, b = (_records(store, side) for side in sides)
    counted = not gate or "failed" not in gate.allowed
    found = compare_runs(a, b, metrics=metrics or None, across=across, failures=counted)
    if as_json:
        print_json(plain_comparison(found, gate.margin if gate else None))
    else:
        echo("\n".join(comparison_lines(found)))
    return 0 if gate is None else _passes(found, gate)


def _records(store: str | None, side: str) -> list[RunRecord]:
    """The runs of a side, as they are parted by commas."""
    from steelyard.store.reader import RunRecord

    records = [RunRecord(found_run(store, name.strip())) for name in side.split(",")]
    ids = [record.id for record in records]
    if twice := [name for name in dict.fromkeys(ids) if ids.count(name) > 1]:
        hint = "name each run of a side once; more trials of one run are no further run"
        raise UsageError(f"{side}: the run {twice[0]} is named twice", hint=hint)
    return records


def _passes(found: RunComparison, gate: _Gate) -> int:
    """Say what does not pass; the exit code."""
    from steelyard.analysis.gate import objections
    from steelyard.report.comparison import gate_lines

    if against := objections(found, gate.allowed, margin=gate.margin):
        echo("\n".join(gate_lines(against)), err=True)
        return 1
    if not found.compared:
        echo("nothing could be compared, so --fail-on has no answer", err=True)
        return 2
    return 0


def _only_one(after: str | None, options: Mapping[str, object]) -> None:
    """A published result takes the place of the second run, and of what is asked about that."""
    for what, given in (("a second run", after), *options.items()):
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
