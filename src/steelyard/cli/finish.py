"""What is printed when a run is over: the table, the requirements, the report's path last."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from steelyard.analysis.derived import derive
from steelyard.analysis.requirements import JudgedRequirement, has_failed_requirements, judge
from steelyard.analysis.summary import RunSummary, summarise_run
from steelyard.cli.options import print_json
from steelyard.cli.terminal import echo
from steelyard.errors import SteelyardError
from steelyard.printable import make_one_line
from steelyard.report.findings import finding_lines, sections
from steelyard.report.heading import describe_site
from steelyard.report.plain import plain_derived, plain_run
from steelyard.report.sections.outcome import outcome
from steelyard.report.table import result_lines
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord

if TYPE_CHECKING:  # comparing loads numpy, which showing a run does not need
    from steelyard.analysis.comparison.gate import GatedComparison
    from steelyard.report.sections.finding import Section

MOST_CELLS = 60


def finish(folder: RunFolder, *, as_json: bool, undecided: str) -> int:
    """Print the results of a run and write its report; the exit code."""
    record = RunRecord(folder)
    summary = summarise_run(record)
    judged = judge(record, summary)
    compared = compare_levels(record, summary)
    print_results(record, summary, judged, compared, as_json=as_json)
    report = _write_report(record)
    if report and not as_json:
        echo(report)
    if record.trials and all(trial.result.status == "failed" for trial in record.trials):
        return 3  # not one trial gave a figure: the run was not carried out
    if has_failed_requirements(judged, cast(Literal["fail", "pass"], undecided)) or not (
        compared is None or compared.is_passing
    ):
        return 1
    if summary.has_no_pooled_trials:
        echo("exit code 3: no trial counts; the marks give the reasons", err=True)
        return 3
    return 0


def print_results(
    record: RunRecord,
    summary: RunSummary,
    judged: tuple[JudgedRequirement, ...],
    compared: GatedComparison | None,
    *,
    as_json: bool,
    both: bool = False,
    metrics: Sequence[str] = (),
) -> None:
    """Where it was measured and the table, or everything, for machines.

    It is as wide as the terminal; where there is none, as it needs. `metrics` are the names of those to show.
    `both` shows each cell also with its disturbed trials counted in, as everything for machines always does.
    Raises UnknownName.
    """
    shown, derived = summary.filter_metrics(metrics), derive(record, summary)
    if as_json:
        everything = plain_run(shown, judged, compared) | {"derived": plain_derived(derived)}
        print_json({**everything, "site": record.site})
        return
    if where := describe_site(record):
        echo(where)
    columns, most = (shutil.get_terminal_size().columns, MOST_CELLS) if sys.stdout.isatty() else (None, None)
    lines = result_lines(shown, judged, columns=columns, most=most, both=both)
    derived_sections = sections(derived)
    lines += finding_lines(derived_sections, derived.notes)
    lines += [
        "",
        *(
            _format_comparison(compared)
            if compared
            else _format_answer(record, shown, judged, derived_sections)
        ),
    ]
    echo("\n".join(lines))


def compare_levels(record: RunRecord, summary: RunSummary) -> GatedComparison | None:
    """What the experiment's own `compare` says; None where it has none."""
    if not record.design.get("compare"):
        return None
    from steelyard.analysis.comparison.compare_levels import compare_within

    return compare_within(record, summary)


def _format_comparison(compared: GatedComparison) -> list[str]:
    from steelyard.report.comparison import comparison_lines, gate_lines

    return [*comparison_lines(compared.comparison), *gate_lines(compared)]


def _format_answer(
    record: RunRecord, summary: RunSummary, judged: tuple[JudgedRequirement, ...], found: Sequence[Section]
) -> list[str]:
    short = outcome(record, summary, judged, found)
    return [make_one_line(text) for text in (short.answer, *short.failures)]


def _write_report(record: RunRecord) -> Any:
    """Write the report; that it cannot be written does not spoil the results."""
    from steelyard.report import html

    try:
        return html.write(record, record.folder.derived_file("report.html"))
    except SteelyardError as error:
        echo(f"cannot write the report: {error}", err=True)
        return None
