"""A run for other programs: tables, JSON, JUnit, forms for CI, Seastar.

All raise StoreError as `files.replace_whole` does.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.analysis.comparison.gate import GatedComparison
from steelyard.analysis.findings import Findings
from steelyard.errors import StoreError
from steelyard.printable import make_printable
from steelyard.report import html, markdown
from steelyard.report.ci.openmetrics import render_openmetrics
from steelyard.report.ci.summary import render_summary
from steelyard.report.ci.trackers import render_bencher, render_github_benchmark
from steelyard.report.files import replace_file, write_text
from steelyard.report.io_properties import write_io_properties
from steelyard.report.junit import render_junit, render_junit_comparison, sum_seconds
from steelyard.report.plain import plain_collected, plain_comparison, plain_run
from steelyard.report.sections.comparison import describe_comparison
from steelyard.report.tidy import Kind, Tidy, tidy
from steelyard.store.reader import RunRecord


def write_csv(record: RunRecord, path: Path) -> Path:
    """One row per trial and metric, see `tidy`; nothing is an empty field.

    For spreadsheets, which run what begins as a formula: such a text has `'` before it. Numbers stay numbers.
    """
    table = tidy(record)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_field(name) for name in table.columns])
    writer.writerows([_field(value) for value in row] for row in table.rows)
    return write_text(path, make_printable(text.getvalue()))


def write_parquet(record: RunRecord, path: Path) -> Path:
    """The same table with types, one column of values in base units."""
    import duckdb

    table = tidy(record)
    with replace_file(path) as part:
        try:
            _to_parquet(table, part)
        except duckdb.Error as error:
            raise StoreError(f"cannot write {path}: {str(error).splitlines()[0]}") from error
    return path


def write_json(findings: Findings, path: Path) -> Path:
    """Everything that was found, see `plain`."""
    content = {**plain_run(findings), "collected": plain_collected(findings.record)}
    return write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def write_junit(findings: Findings, path: Path) -> Path:
    """Cells, requirements, the comparison and failed trials, see `render_junit`."""
    return write_text(path, render_junit(findings))


def write_comparison(gated: GatedComparison, records: Sequence[RunRecord], form: str, path: Path) -> Path:
    """A comparison as `html`, `markdown`, `junit` or `json`; `records` are those of its runs."""
    title = " and ".join(dict.fromkeys(str(record.design.get("experiment", "")) for record in records))
    if form == "json":
        return write_text(path, json.dumps(plain_comparison(gated), indent=1, allow_nan=False) + "\n")
    if form == "junit":
        seconds = dict(pair for record in records for pair in sum_seconds(record).items())
        return write_text(path, render_junit_comparison(gated, title, seconds))
    writer = html.render_comparison if form == "html" else markdown.render_comparison
    return write_text(path, writer(describe_comparison(gated), title))


Writer = Callable[[Findings, Path], Path]


class Form(NamedTuple):
    """A form of export: the end of its files' names, and who writes one."""

    ending: str
    write: Writer


def _write_rendered(render: Callable[[Findings], str]) -> Writer:
    return lambda findings, path: write_text(path, render(findings))


_SMALLER = partial(render_github_benchmark, better="lower")
_BIGGER = partial(render_github_benchmark, better="higher")
FORMS: Mapping[str, Form] = {
    "csv": Form("csv", lambda findings, path: write_csv(findings.record, path)),
    "parquet": Form("parquet", lambda findings, path: write_parquet(findings.record, path)),
    "json": Form("json", write_json),
    "junit": Form("xml", write_junit),
    "summary": Form("summary.md", _write_rendered(render_summary)),
    "openmetrics": Form("openmetrics.txt", _write_rendered(render_openmetrics)),
    "github-benchmark-smaller": Form("smaller.json", _write_rendered(_SMALLER)),
    "github-benchmark-bigger": Form("bigger.json", _write_rendered(_BIGGER)),
    "bencher": Form("bencher.json", _write_rendered(render_bencher)),
    "io_properties": Form("yaml", write_io_properties),
}
"""By the names that `steelyard export` knows."""

# A number is none, nor is a sign alone. Neither blanks before a formula nor wide signs hinder all.
_FORMULA = re.compile(r"(?![\s+-]*[\d.]*(?:e[+-]?\d+)?\s*\Z)\s*[=+\-@＝＋－＠]", re.IGNORECASE)
_DTYPES = {"BIGINT": "int64", "DOUBLE": "float64", "BOOLEAN": "bool"}


def _field(value: Any) -> Any:
    """`csv` quotes a line feed in a text, but not a carriage return, which many readers take for one."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = value.replace("\r\n", "\n").replace("\r", "\n")
        return f"'{text}" if _FORMULA.match(text) else text
    return "" if value is None else value


def _to_parquet(table: Tidy, path: Path) -> None:
    """Handed over column by column, so that names from the record never become part of a query."""
    import duckdb

    columns = zip(*table.rows, strict=True) if table.rows else ([] for _ in table.columns)
    arrays = {
        name: _array(values, kind)
        for (name, kind), values in zip(table.columns.items(), columns, strict=True)
    }
    # Without a sample every column of objects is text; with one, it is what the first values look like.
    with duckdb.connect(":memory:", config={"threads": 1, "pandas_analyze_sample": 0}) as database:
        database.register("tidy", arrays)
        database.view("tidy").write_parquet(str(path), compression="zstd")


def _array(values: Sequence[Any], kind: Kind) -> Any:
    import numpy as np

    if kind == "VARCHAR":
        return np.array(values, dtype=object)
    missing = [value is None for value in values]
    filled = [0 if value is None else value for value in values]
    return np.ma.masked_array(np.array(filled, dtype=_DTYPES[kind]), mask=missing)
