"""`steelyard compare`"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from steelyard.analysis.comparison.gate import Gate, GatedComparison
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
from steelyard.model.trial import Disturbed
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
@click.option(
    "--against",
    metavar="segment|tag:NAME[=VALUE]|RUN",
    help="Compare RUN with earlier runs of its experiment: see `steelyard history`",
)
@click.option(
    "--confirm/--no-confirm",
    default=True,
    help="With --against and --fail-on: measure both builds again before failing, if the file's `compare` "
    "names them",
)
@click.option("--by", metavar="PARAMETER", help="Compare the levels of a parameter within one run")
@click.option("--baseline", metavar="LEVEL", help="With --by: the level to compare with [default: the first]")
@metric_option("Compare only this metric; repeatable; a pattern such as 'latency_*' is allowed")
@click.option(
    "--across", is_flag=True, help="Also compare runs from different machines, sites or tool versions"
)
@click.option(
    "--fail-on",
    type=click.Choice(["worse"]),
    help="Exit with 1 if any cell is worse or gives no answer; for CI",
)
@click.option(
    "--margin",
    metavar="SHARE",
    help="With --fail-on, pass only cells shown to be no worse than this, such as 5%",
)
@click.option(
    "--allow",
    type=click.Choice(["failed", "missing", "few"]),
    multiple=True,
    help="With --fail-on, also pass cells that have failed trials, are missing, or have too few trials",
)
@click.option("--with", "other", metavar="published:ID", help="Compare one run with a published result")
@click.option("--as", "form", type=click.Choice(list(_ENDINGS)), help="Also write a file in this format")
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="With --as, the file")
@disturbed_option
@store_option
@json_option
def command(
    before: str,
    after: str | None,
    against: str | None,
    confirm: bool,
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
    steelyard compare last --against segment --fail-on worse
    steelyard compare last --with published:fermilab-2015/table-1

    Each cell gets a ratio with its interval, and a verdict from a test corrected for the number of
    comparisons: better, worse, no detectable difference, or too few trials. A failed trial counts as worse
    than any figure.

    --by compares cells that differ in that parameter alone, in pairs where they were measured block by
    block. A run whose experiment file has `compare:` needs no --by and uses the gate given there.

    Several runs per side, separated by commas, account for the variation between runs. One run per side
    cannot show whether the next run would give the same answer: measure both programs in one run, as levels
    of a parameter, or run each several times.

    --against takes the baseline from the history of RUN's experiment: `segment` is all earlier runs on the
    same machine with the same tools since the last change, `tag:release` those that have this tag. Before
    such a gate fails, it measures again: an experiment whose file has `compare:` is run once more, both
    builds in turn, and if they do not differ then, the gate passes.

    With --fail-on, a cell passes if it was compared and is not worse. It fails if a trial of AFTER failed,
    if a run lacks it or did not measure it, or if it has too few trials for an answer, unless --allow
    accepts that. With --margin, the whole interval of a cell's change must also lie within the margin.

    Runs of different workloads are refused, and so are runs from different machines or tool versions unless
    --across is given. A published result was measured elsewhere with other programs, so --with compares
    shapes only: efficiency losses, orders of machines, knees.

    --as writes a file (HTML, Markdown, JUnit or JSON), by default into the run's folder, and prints its path.
    """
    if other is not None:
        what = {"--against": against, "--by": by, "--baseline": baseline, "--metric": metrics, "--as": form}
        gate = {"--fail-on": fail_on, "--allow": allow, "--margin": margin, "--disturbed": disturbed}
        _check_single_run(after, {**what, "--across": across, **gate})
        return _compare_published(store, before, other, as_json=as_json)
    for given, name in ((allow, "--allow"), (margin, "--margin")):
        if given and not fail_on:
            raise UsageError(f"{name} needs a gate to apply to; also give --fail-on worse")
    if output and not form:
        raise UsageError("-o needs a format; add --as html, markdown, junit or json")
    asked = Gate(allow, None if margin is None else _parse_share(margin)) if fail_on else None
    choices = _CompareOptions(metrics, across, by, baseline, disturbed, asked)
    if against is not None:
        from steelyard.cli.against import confirm_alarm, find_baseline

        before, after = find_baseline(store, before, after, against)
    compared = (
        _compare_levels(store, before, choices)
        if after is None
        else _compare_sides(store, (before, after), choices)
    )
    code = _print_comparison(*compared, form, output, as_json=as_json)
    if code == 1 and against is not None:
        return confirm_alarm(store, compared[1][-1], measure=confirm)
    return code


def _parse_share(margin: str) -> float:
    share = Share.parse(margin)
    if not 0 < share < 1:
        raise UsageError(f"--margin {margin} must be between 0% and 100%", hint="for example --margin 5%")
    return share


def _compare_sides(
    store: str | None, sides: tuple[str, str], choices: _CompareOptions
) -> tuple[GatedComparison, list[RunRecord]]:
    """Compare the runs of two sides; all runs with it, the newest last."""
    from steelyard.analysis.comparison.compare import compare_runs

    for given, name in ((choices.by, "--by"), (choices.baseline, "--baseline")):
        if given:
            raise UsageError(f"{name} compares levels within one run; leave out AFTER")
    a, b = (_load_records(store, side, choices.disturbed) for side in sides)
    counted = not choices.gate or "failed" not in choices.gate.allowed
    comparison = compare_runs(a, b, metrics=choices.metrics, across=choices.across, failures=counted)
    return GatedComparison(comparison, choices.gate), [*a, *b]


def _compare_levels(
    store: str | None, name: str, choices: _CompareOptions
) -> tuple[GatedComparison, list[RunRecord]]:
    """Compare the levels of a parameter in one run: the one that is named, or that of its file."""
    from steelyard.analysis.comparison.compare_levels import compare_within
    from steelyard.analysis.summary import summarise_run
    from steelyard.store.reader import RunRecord

    if choices.across:
        raise UsageError("--across applies only to several runs; leave it out for one run")
    record = RunRecord(find_run(store, name), disturbed=choices.disturbed)
    gated = compare_within(
        record,
        summarise_run(record),
        parameter=choices.by,
        baseline=choices.baseline,
        metrics=choices.metrics,
        gate=choices.gate,
    )
    if gated is None:
        hint = "steelyard compare BEFORE AFTER, steelyard compare RUN --by PARAMETER, or --with published:ID"
        raise UsageError("nothing to compare this run with", hint=hint)
    return gated, [record]


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
        echo("\n".join(told), err=as_json or not gated.is_passing)
    if gated.is_passing:
        return 0
    return 1 if gated.objections else 2


def _load_records(store: str | None, side: str, disturbed: Disturbed | None) -> list[RunRecord]:
    """The runs of a side, as they are parted by commas."""
    from steelyard.store.reader import RunRecord

    records = [RunRecord(find_run(store, name.strip()), disturbed=disturbed) for name in side.split(",")]
    ids = [record.id for record in records]
    if twice := [name for name in dict.fromkeys(ids) if ids.count(name) > 1]:
        hint = "name each run once per side; listing a run twice does not add a run"
        raise UsageError(f"{side}: the run {twice[0]} is named twice", hint=hint)
    return records


def _check_single_run(after: str | None, options: Mapping[str, object]) -> None:
    """A published result takes the place of the second run, and of what is asked about that."""
    for what, given in (("the second run", after), *options.items()):
        if given:
            raise UsageError(f"--with compares one run with a published result; leave out {what}")


def _compare_published(store: str | None, name: str, other: str, *, as_json: bool) -> int:
    """Set a run beside a published result; the exit code."""
    from steelyard.analysis.comparison.compare_published import compare_published
    from steelyard.analysis.comparison.published import PREFIX, load_published
    from steelyard.analysis.findings import Findings
    from steelyard.report.plain import plain_published
    from steelyard.report.published_comparison import published_lines
    from steelyard.store.reader import RunRecord

    if not other.startswith(PREFIX):
        hint = f"for example --with {PREFIX}fermilab-2015/table-1; two runs need no --with"
        raise UsageError(f"--with {other}: the name must begin with '{PREFIX}'", hint=hint)
    theirs = load_published(other)
    comparison = compare_published(Findings(RunRecord(find_run(store, name))), theirs)
    if as_json:
        print_json(plain_published(comparison))
    else:
        echo("\n".join(published_lines(comparison)))
    return 0
