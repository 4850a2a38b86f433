"""`steelyard export`"""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import disturbed_option, find_run, run_argument, store_option
from steelyard.cli.terminal import echo
from steelyard.model.trial import Disturbed

_FORMS = (
    "csv",
    "parquet",
    "json",
    "junit",
    "summary",
    "openmetrics",
    "github-benchmark-smaller",
    "github-benchmark-bigger",
    "bencher",
    "io_properties",
)


@click.command()
@run_argument()
@click.option("--as", "form", type=click.Choice(_FORMS), required=True)
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write to this file")
@disturbed_option
@store_option
def command(run: str, form: str, output: str | None, disturbed: Disturbed | None, store: str | None) -> int:
    """Export RUN for other programs and print the file's path.

    \b
    steelyard export last --as csv -o result.csv       one row per trial and metric
    steelyard export last --as parquet                 the same, with types
    steelyard export last --as json                    the complete summary
    steelyard export last --as junit                   cells, requirements, comparison as test cases, for CI
    steelyard export last --as summary                 Markdown, for the page of a CI job or a comment
    steelyard export last --as openmetrics             for GitLab's metrics reports, and Prometheus
    steelyard export last --as github-benchmark-smaller  times and sizes for github-action-benchmark
    steelyard export last --as bencher                 for Bencher, with the ends of intervals
    steelyard export last --as io_properties           what a disk can do, for Seastar: see `catalog iotune`
    """
    from steelyard.analysis.findings import Findings
    from steelyard.report.export import FORMS
    from steelyard.store.reader import RunRecord

    record = RunRecord(find_run(store, run), disturbed=disturbed)
    chosen = FORMS[form]
    path = Path(output) if output else record.folder.derived_file(f"{record.id}.{chosen.ending}")
    echo(chosen.write(Findings(record), path))
    return 0
