"""`steelyard compare`"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from steelyard.analysis.gate import Gate, GatedComparison
from steelyard.cli.options import (
    disturbed_option,
    find_run,
    json_option,
    metric_option,
    print_json,
    run_argument,
    store_option,
)
from steelyard.cli.terminal import echo
from steelyard.errors import UsageError
from steelyard.model.trial import Disturbed, show_level
from steelyard.units import Share

if TYPE_CHECKING:
    from steelyard.store.reader import RunRecord

_ENDINGS = {"html": "html", "markdown": "md", "junit": "xml", "json": "json"}


class _CompareOptions(NamedTuple):
    """What is compared, and what must hold. `gate` is None without --fail-on."""

    metrics: tuple[str, ...]
    across: bool
    by: str | None
    baseline: str | None
    disturbed: Disturbed | None
    gate: Gate | None


@click.command()
@run_argument("before")
@run_argument("after", required=False)
@click.option("--by", metavar="PARAMETER", help="Compare the levels of a parameter within one run")
@click.option("--baseline", metavar="LEVEL", help="With --by: compare with this level, not the first")
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
@click.option("--as", "form", type=click.Choice(list(_ENDINGS)), help="Write a file in this form, too")
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="With --as, where to")
@disturbed_option
@store_option
@json_option
def command(
    before: str,
    after: str | None,
    by: str | None,
    baseline: str | None,
    metrics: tuple[str, ...],
    across: bool,
    fail_on: str | None,
    margin: str | None,
    allow: tuple[str, ...],
    other: str | None,
    form: str | None,
    output: str | None,
    disturbed: Disturbed | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Compare the run AFTER with the run BEFORE, or the levels of a parameter within one RUN, cell by cell.

    \b
    steelyard compare 20261120-184512-ska1-7f3a last
    steelyard compare last --by build --baseline old
    steelyard compare base-1,base-2,base-3 new-1,new-2,new-3
    steelyard compare baseline-run last --fail-on worse --metric write_bandwidth --disturbed exclude
    steelyard compare last --by build --fail-on worse --margin 5% --as junit -o ab.xml
    steelyard compare last --with published:fermilab-2015/table-1

    Each cell gets the ratio with its interval and a test, corrected for the number of comparisons: better,
    worse, no detectable difference, or too few trials. A trial that failed counts as worse than any figure.

    With --by, cells are compared that differ in that parameter alone, pair by pair where they were measured
    block by block. A run whose file says `compare:` needs no --by, and brings its own gate.

    Several runs on a side, parted by commas, take in how runs differ from each other. With one run a side
    nobody knows whether the next run would say the same; measure both programs in one run, as levels of a
    parameter, or run each several times.

    With --fail-on a cell passes that was compared and is not worse. One in which a trial of AFTER failed,
    that some run lacks or did not measure, or with too few trials for an answer does not, unless --allow
    says so. With --margin a cell passes only if the whole interval of its change stays within the margin.

    Runs of another workload are refused, and those of another machine or tool version unless --across is
    given. A published result was measured elsewhere with other programs, so with --with only shapes are
    compared: efficiency losses, orders of machines, knees.

    --as writes a file (HTML, Markdown, JUnit or JSON), by default into the run's folder, and prints its path.
    """
    if other is not None:
        what = {"--by": by, "--baseline": baseline, "--metric": metrics, "--across": across, "--as": form}
        gate = {"--fail-on": fail_on, "--allow": allow, "--margin": margin, "--disturbed": disturbed}
        _check_single_run(after, {**what, **gate})
        return _compare_published(store, before, other, as_json=as_json)
    for given, name in ((allow, "--allow"), (margin, "--margin")):
        if given and not fail_on:
            raise UsageError(f"{name} says what --fail-on lets pass; give --fail-on worse, too")
    if output and not form:
        raise UsageError("-o says where to write; add --as html, markdown, junit or json")
    asked = Gate(allow, None if margin is None else _parse_share(margin)) if fail_on else None
    choices = _CompareOptions(metrics, across, by, baseline, disturbed, asked)
    comparison = (
        _compare_levels(store, before, choices)
        if after is None
        else _compare_sides(store, (before, after), choices)
    )
    return _print_comparison(*comparison, form, output, as_json=as_json)


def _parse_share(margin: str) -> float:
    share = Share.parse(margin)
    if not 0 < share < 1:
        raise UsageError(f"--margin {margin} must lie between 0% and 100%", hint="for example --margin 5%")
    return share


def _compare_sides(
    store: str | None, sides: tuple[str, str], choices: _CompareOptions
) -> tuple[GatedComparison, list[RunRecord]]:
    """Compare the runs of two sides; all runs with it, the newest last."""
    from steelyard.analysis.compare import compare_runs

    for given, name in ((choices.by, "--by"), (choices.baseline, "--baseline")):
        if given:
            raise UsageError(f"{name} compares levels within one run; AFTER has no place beside it")
    a, b = (_load_records(store, side, choices.disturbed) for side in sides)
    counted = not choices.gate or "failed" not in choices.gate.allowed
    comparison = compare_runs(a, b, metrics=choices.metrics, across=choices.across, failures=counted)
    return GatedComparison(comparison, choices.gate), [*a, *b]


def _compare_levels(
    store: str | None, name: str, choices: _CompareOptions
) -> tuple[GatedComparison, list[RunRecord]]:
    """Compare the levels of a parameter in one run: the one that is named, or that of its file."""
    from steelyard.analysis.compare_levels import compare_levels, load_gate
    from steelyard.analysis.summary import summarise_run
    from steelyard.store.reader import RunRecord

    if choices.across:
        raise UsageError("--across is for several runs; one run has one machine")
    record = RunRecord(find_run(store, name), disturbed=choices.disturbed)
    summary = summarise_run(record)
    asked = record.design.get("compare") or {}
    parameter = choices.by or asked.get("parameter")
    if parameter is None:
        hint = "steelyard compare BEFORE AFTER, steelyard compare RUN --by PARAMETER, or --with published:ID"
        raise UsageError("a second run is missing, or what to compare within this one", hint=hint)
    own = parameter == asked.get("parameter")
    gate = choices.gate or (load_gate(record) if own else None)
    comparison = compare_levels(
        record,
        summary,
        parameter=parameter,
        baseline=choices.baseline or (show_level(asked["baseline"]) if own else None),
        metrics=choices.metrics or (asked["metrics"] if own else ()),
        failures=not gate or "failed" not in gate.allowed,
    )
    return GatedComparison(comparison, gate), [record]


def _print_comparison(
    gated: GatedComparison, records: list[RunRecord], form: str | None, output: str | None, *, as_json: bool
) -> int:
    """Print the comparison, write its file, and say what does not pass; the exit code."""
    from steelyard.report.comparison import comparison_lines, gate_lines
    from steelyard.report.export import write_comparison
    from steelyard.report.plain import plain_comparison

    if as_json:
        print_json(plain_comparison(gated))
    else:
        echo("\n".join(comparison_lines(gated.comparison)))
    if form:
        folder = records[-1].folder
        path = Path(output) if output else folder.derived_file(f"comparison.{_ENDINGS[form]}")
        echo(write_comparison(gated, records, form, path), err=as_json)
    if told := gate_lines(gated):
        echo("\n".join(told), err=as_json or not gated.passes)
    if gated.passes:
        return 0
    return 1 if gated.objections else 2


def _load_records(store: str | None, side: str, disturbed: Disturbed | None) -> list[RunRecord]:
    """The runs of a side, as they are parted by commas."""
    from steelyard.store.reader import RunRecord

    records = [RunRecord(find_run(store, name.strip()), disturbed=disturbed) for name in side.split(",")]
    ids = [record.id for record in records]
    if twice := [name for name in dict.fromkeys(ids) if ids.count(name) > 1]:
        hint = "name each run of a side once; more trials of one run are no further run"
        raise UsageError(f"{side}: the run {twice[0]} is named twice", hint=hint)
    return records


def _check_single_run(after: str | None, options: Mapping[str, object]) -> None:
    """A published result takes the place of the second run, and of what is asked about that."""
    for what, given in (("a second run", after), *options.items()):
        if given:
            raise UsageError(f"--with compares one run with a published result; {what} has no place there")


def _compare_published(store: str | None, name: str, other: str, *, as_json: bool) -> int:
    """Set a run beside a published result; the exit code."""
    from steelyard.analysis.compare_published import compare_published
    from steelyard.analysis.published import PREFIX, load_published
    from steelyard.analysis.summary import summarise_run
    from steelyard.report.plain import plain_published
    from steelyard.report.published_comparison import published_lines
    from steelyard.store.reader import RunRecord

    if not other.startswith(PREFIX):
        hint = f"for example --with {PREFIX}fermilab-2015/table-1; two runs need no --with"
        raise UsageError(f"--with {other}: it begins with '{PREFIX}'", hint=hint)
    theirs = load_published(other)
    record = RunRecord(find_run(store, name))
    comparison = compare_published(record, summarise_run(record), theirs)
    if as_json:
        print_json(plain_published(comparison))
    else:
        echo("\n".join(published_lines(comparison)))
    return 0
