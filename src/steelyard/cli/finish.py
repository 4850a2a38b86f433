"""What is printed when a run is over: the table, the requirements, the report's path last."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from steelyard.analysis.findings import Findings, Standing
from steelyard.cli.options import print_json
from steelyard.cli.terminal import echo
from steelyard.errors import SteelyardError
from steelyard.printable import make_one_line
from steelyard.report.derived_lines import derived_lines, sections
from steelyard.report.heading import describe_site
from steelyard.report.plain import plain_run
from steelyard.report.sections.outcome import outcome
from steelyard.report.table import result_lines
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord

if TYPE_CHECKING:
    from steelyard.cli.notifying import Notifier
    from steelyard.report.sections.section import Section

MOST_CELLS = 60
_EXIT_CODES: dict[Standing, int] = {"passed": 0, "not-met": 1, "undecided": 1, "failed": 3}


def finish(folder: RunFolder, *, as_json: bool, undecided: str, notifier: Notifier | None = None) -> int:
    """Print the results of a run, write its report, and have it told; the exit code."""
    return finish_findings(
        Findings(RunRecord(folder)), as_json=as_json, undecided=undecided, notifier=notifier
    )


def finish_findings(
    findings: Findings, *, as_json: bool, undecided: str, notifier: Notifier | None = None
) -> int:
    """The same of a run that is analysed already."""
    print_results(findings, as_json=as_json)
    _write_io_properties(findings, quiet=as_json)
    report = _write_report(findings)
    if report and not as_json:
        echo(report)
    code = _choose_exit_code(findings, undecided)
    if notifier:
        notifier.tell_outcome(findings, code)
    return code


def _choose_exit_code(findings: Findings, undecided: str) -> int:
    standing = findings.judge_standing(cast(Literal["fail", "pass"], undecided))
    if standing == "failed" and not findings.has_only_failures:
        echo("exit code 3: no trial counts; the marks give the reasons", err=True)
    return _EXIT_CODES[standing]


def print_results(findings: Findings, *, as_json: bool, both: bool = False) -> None:
    """Where it was measured and the table, or everything, for machines.

    It is as wide as the terminal; where there is none, as it needs. `both` shows each cell also with its
    disturbed trials counted in, as everything for machines always does. Raises UnknownName.
    """
    if as_json:
        print_json({**plain_run(findings), "site": findings.record.site})
        return
    columns, most = (shutil.get_terminal_size().columns, MOST_CELLS) if sys.stdout.isatty() else (None, None)
    derived = sections(findings.derived)
    lines = [
        *filter(None, [describe_site(findings.record)]),
        *result_lines(findings, columns=columns, most=most, both=both),
        *derived_lines(derived, findings.derived.notes),
        "",
        *_format_answer(findings, derived),
    ]
    echo("\n".join(lines))


def _format_answer(findings: Findings, derived: Sequence[Section]) -> list[str]:
    """The experiment's own comparison; without one, the answer in a sentence."""
    if gated := findings.comparison:
        from steelyard.report.comparison import comparison_lines, gate_lines

        return [*comparison_lines(gated.comparison), *gate_lines(gated)]
    short = outcome(findings, derived)
    return [make_one_line(text) for text in (short.answer, *short.failures)]


def _write_io_properties(findings: Findings, *, quiet: bool) -> None:
    """Where a disk was measured for Seastar: write the file, and say where it is, or why there is none."""
    from steelyard.report.io_properties import NAME, has_disk_figures, write_io_properties

    if not has_disk_figures(findings.record):
        return
    try:
        path = write_io_properties(findings, findings.record.folder.derived_file(NAME))
    except SteelyardError as error:
        echo(str(error), err=True)
    else:
        echo(f"{NAME} for Seastar: {path}", err=quiet)


def _write_report(findings: Findings) -> Any:
    """Write the report; that it cannot be written does not spoil the results."""
    from steelyard.report import html

    try:
        return html.write(findings, findings.record.folder.derived_file("report.html"))
    except SteelyardError as error:
        echo(f"cannot write the report: {error}", err=True)
        return None
