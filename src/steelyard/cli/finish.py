"""What is printed when a run is over: the table, the requirements, the report's path last."""

from __future__ import annotations

import shutil
from typing import Any, Literal, cast

import click

from steelyard.analysis.requirements import Judged, failed, judge
from steelyard.analysis.summary import RunSummary, summarise_run
from steelyard.cli.options import print_json
from steelyard.errors import SteelyardError
from steelyard.report.plain import plain_run
from steelyard.report.table import result_lines
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord

MOST_CELLS = 60


def finish(folder: RunFolder, *, as_json: bool, undecided: str) -> int:
    """Print the results of a run and write its report; the exit code."""
    record = RunRecord(folder)
    summary = summarise_run(record)
    judged = judge(record, summary)
    print_results(summary, judged, as_json=as_json)
    report = _report(record)
    if report and not as_json:
        click.echo(report)
    if record.trials and all(trial.result.status == "failed" for trial in record.trials):
        return 3  # not one trial gave a figure: the run was not carried out
    return 1 if failed(judged, cast(Literal["fail", "pass"], undecided)) else 0


def print_results(summary: RunSummary, judged: tuple[Judged, ...], *, as_json: bool) -> None:
    """The table of a run, as wide as the terminal; or everything, for machines."""
    if as_json:
        print_json(plain_run(summary, judged))
        return
    columns = shutil.get_terminal_size((110, 24)).columns
    click.echo("\n".join(result_lines(summary, judged, columns=columns, most=MOST_CELLS)))


def _report(record: RunRecord) -> Any:
    """Write the report; that it cannot be written does not spoil the results."""
    from steelyard.report import html

    try:
        return html.write(record, record.folder.derived / "report.html")
    except SteelyardError as error:
        click.echo(f"no report: {error}", err=True)
        return None
