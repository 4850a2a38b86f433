"""`steelyard report`"""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import (
    disturbed_option,
    find_run,
    metric_option,
    outliers_option,
    run_argument,
    store_option,
)
from steelyard.cli.terminal import echo
from steelyard.errors import UsageError
from steelyard.model.trial import Disturbed
from steelyard.stats.outliers import Policy

_MARKDOWN = (".md", ".markdown")


@click.command()
@run_argument(default="last")
@click.option(
    "--as",
    "form",
    type=click.Choice(["html", "markdown"]),
    help="Form of the report; by default that of FILE's name, else html",
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write to this file")
@outliers_option
@metric_option("Report only this metric; repeatable; a pattern such as 'latency_*' is allowed")
@disturbed_option
@store_option
def command(
    run: str,
    form: str | None,
    output: str | None,
    outliers: Policy | None,
    metrics: tuple[str, ...],
    disturbed: Disturbed | None,
    store: str | None,
) -> int:
    """Write the report of RUN, by default the newest, and print its path.

    \b
    steelyard report
    steelyard report last -o result.md
    steelyard report last --metric ratio --metric wall

    The HTML report is one file that needs no network; Markdown comes with its charts as SVG files, which need
    `pip install steelyard[svg]`.
    """
    if output == "-":
        raise UsageError(
            "a report is a file: give it a name", hint="`steelyard show last` prints the results"
        )
    from steelyard.analysis.findings import Findings
    from steelyard.report import html, markdown
    from steelyard.store.reader import RunRecord

    record = RunRecord(find_run(store, run), disturbed=disturbed)
    form = form or ("markdown" if output and output.endswith(_MARKDOWN) else "html")
    name = "report.html" if form == "html" else "report.md"
    path = Path(output) if output else record.folder.derived_file(name)
    writer = html if form == "html" else markdown
    echo(writer.write(Findings(record, outliers, metrics), path))
    return 0
