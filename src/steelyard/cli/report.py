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
from steelyard.model.trial import Disturbed
from steelyard.stats.outliers import Policy


@click.command()
@run_argument()
@click.option("--as", "form", type=click.Choice(["html", "markdown"]), default="html", show_default=True)
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write to this file")
@outliers_option
@metric_option("Report only this metric; repeatable; a pattern such as 'latency_*' is allowed")
@disturbed_option
@store_option
def command(
    run: str,
    form: str,
    output: str | None,
    outliers: Policy | None,
    metrics: tuple[str, ...],
    disturbed: Disturbed | None,
    store: str | None,
) -> int:
    """Write the report of RUN and print its path.

    \b
    steelyard report last
    steelyard report last --as markdown -o result.md
    steelyard report last --metric ratio --metric wall

    The HTML report is one file that needs no network; Markdown comes with its charts as SVG files, which need
    `pip install steelyard[svg]`.
    """
    from steelyard.analysis.findings import Findings
    from steelyard.report import html, markdown
    from steelyard.store.reader import RunRecord

    record = RunRecord(find_run(store, run), disturbed=disturbed)
    name = "report.html" if form == "html" else "report.md"
    path = Path(output) if output else record.folder.derived_file(name)
    writer = html if form == "html" else markdown
    echo(writer.write(Findings(record, outliers, metrics), path))
    return 0
