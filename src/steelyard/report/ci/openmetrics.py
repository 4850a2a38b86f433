"""OpenMetrics text, for GitLab's metrics reports and Prometheus' textfile collector.

Source: OpenMetrics 1.0 (IETF draft-richih-opsawg-openmetrics-00), sections 5 and 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from steelyard.analysis.findings import Findings
from steelyard.analysis.requirements import RequirementVerdict
from steelyard.model.metric import Metric
from steelyard.model.trial import show_level
from steelyard.printable import make_one_line
from steelyard.report.ci.figures import CellFigure, list_figures

_SUFFIXES = {"s": "_seconds", "B": "_bytes", "B/s": "_bytes_per_second", "1/s": "_per_second", "%": "_ratio"}
_NO_NAME = re.compile(r"[^a-zA-Z0-9_]")


def render_openmetrics(findings: Findings) -> str:
    """A gauge for each metric, with `stat` median, low and high; and whether each requirement is met."""
    return "".join(f"{line}\n" for line in (*_list_gauges(findings), *_list_needs(findings), "# EOF"))


def _list_gauges(findings: Findings) -> Iterator[str]:
    figures = sorted(list_figures(findings), key=lambda one: one.metric.name)
    common = {"experiment": findings.summary.title}
    for metric, group in groupby(figures, key=lambda one: one.metric):
        name = _name_gauge(metric)
        yield f"# TYPE {name} gauge"
        yield f"# HELP {name} {_escape(metric.about or metric.name)}"
        for one in group:
            levels = {_label(key): show_level(level) for key, level in one.cell.parameters.items()}
            for stat, value in _list_values(one):
                yield f"{name}{_format_labels({**levels, **common, 'stat': stat})} {value!r}"


def _list_values(one: CellFigure) -> Iterator[tuple[str, float]]:
    yield "median", one.summary.median
    if one.bounds:
        yield "low", one.bounds[0]
        yield "high", one.bounds[1]


def _list_needs(findings: Findings) -> Iterator[str]:
    if not findings.requirements:
        return
    yield "# TYPE steelyard_requirement_met gauge"
    yield "# HELP steelyard_requirement_met 1 where a requirement is met in all its cells"
    for number, one in enumerate(findings.requirements, start=1):
        labels = {"experiment": findings.summary.title, "number": str(number), "requirement": one.sentence}
        met = one.verdict is RequirementVerdict.MET
        yield f"steelyard_requirement_met{_format_labels(labels)} {int(met)}"


def _name_gauge(metric: Metric) -> str:
    name, suffix = _NO_NAME.sub("_", metric.name), _SUFFIXES.get(metric.unit, "")
    return f"steelyard_{name}{'' if name.endswith(suffix) else suffix}"


def _label(name: str) -> str:
    """Names that are ours stay ours."""
    plain = _NO_NAME.sub("_", name)
    return f"level_{plain}" if plain in ("experiment", "stat") or plain[:1].isdigit() else plain


def _format_labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escape(text)}"' for name, text in labels.items()) + "}"


def _escape(text: str) -> str:
    return make_one_line(text).replace("\\", "\\\\").replace('"', '\\"')
