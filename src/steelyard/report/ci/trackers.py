"""JSON for services that track benchmarks over time: github-action-benchmark and Bencher."""

from __future__ import annotations

import json
from typing import Any

from steelyard.analysis.findings import Findings
from steelyard.printable import make_data_printable
from steelyard.report.ci.figures import CellFigure, list_figures, name_benchmark
from steelyard.report.numbers import scale_for
from steelyard.stats.comparison import Better


def render_github_benchmark(findings: Findings, better: Better) -> str:
    """`customSmallerIsBetter` or `customBiggerIsBetter` of github-action-benchmark: metrics of a direction.

    One file holds one direction, as its tool asks.
    """
    figures = [one for one in list_figures(findings) if one.metric.better == better]
    return _dump([_describe_benchmark(findings, one) for one in figures])


def _describe_benchmark(findings: Findings, one: CellFigure) -> dict[str, Any]:
    scale = scale_for([one.summary.median], one.metric.unit)
    entry: dict[str, Any] = {
        "name": f"{name_benchmark(findings, one.cell)}: {one.metric.name}",
        "unit": scale.label or "1",
        "value": one.summary.median / scale.factor,
        "extra": f"n={one.summary.n}, run {findings.record.id}",
    }
    if one.bounds:
        low, high = (scale.number(end) for end in one.bounds)
        entry["range"] = f"{low} to {high}"
    return entry


def render_bencher(findings: Findings) -> str:
    """Bencher Metric Format: by benchmark and measure, with the interval's ends; in base units."""
    benchmarks: dict[str, dict[str, Any]] = {}
    for one in list_figures(findings):
        entry = {"value": one.summary.median}
        if one.bounds:
            entry |= {"lower_value": one.bounds[0], "upper_value": one.bounds[1]}
        benchmarks.setdefault(name_benchmark(findings, one.cell), {})[one.metric.name] = entry
    return _dump(benchmarks)


def _dump(content: Any) -> str:
    return json.dumps(make_data_printable(content), indent=1, allow_nan=False) + "\n"
