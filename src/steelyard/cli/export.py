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
    "rocrate",
)


@click.command()
@run_argument(default="last")
@click.option("--as", "form", type=click.Choice(_FORMS), required=True)
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write to this file")
@click.option("--license", "license_", metavar="ID", default="", help="With rocrate: an SPDX id or a URL")
@click.option("--author", "authors", metavar="'NAME <URL>'", multiple=True, help="With rocrate; repeatable")
@disturbed_option
@store_option
def command(
    run: str,
    form: str,
    output: str | None,
    license_: str,
    authors: tuple[str, ...],
    disturbed: Disturbed | None,
    store: str | None,
) -> int:
    """Export RUN, by default the newest, for other programs and print the file's path.

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
    steelyard export last --as rocrate --license CC-BY-4.0 --author 'Ada Lovelace <https://orcid.org/…>'

    An RO-Crate is the whole run for publication: record, figures, report, and what they are. It is a ZIP
    file, or a directory if -o names no .zip; `steelyard show run.zip` reads it again.
    """
    from steelyard.analysis.findings import Findings
    from steelyard.report.export import FORMS
    from steelyard.store.reader import RunRecord

    record = RunRecord(find_run(store, run), disturbed=disturbed)
    if form == "rocrate":
        from steelyard.report.crate.metadata import Publication
        from steelyard.report.crate.write import write_crate

        path = Path(output) if output else record.folder.derived_file(f"{record.id}.zip")
        echo(write_crate(Findings(record), path, Publication(license_, authors)))
        return 0
    chosen = FORMS[form]
    path = Path(output) if output else record.folder.derived_file(f"{record.id}.{chosen.ending}")
    echo(chosen.write(Findings(record), path))
    return 0
