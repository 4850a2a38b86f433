"""Which metrics of a run matter most: what a narrow table shows and what a comparison tests first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from steelyard.errors import UnknownName
from steelyard.model.metric import Metric

TELLING_QUANTILES = (0.5, 0.99)
FEWEST_LEADING = 4
"""Metrics that sentences and printed charts are about, where the experiment does not name more."""


def list_requested(design: Mapping[str, Any]) -> list[str]:
    """The metrics that the experiment itself asks about: in its search, its comparison, its requirements, its
    stop rule; then those that it computes or declares, which its workload would not have by itself.
    """
    required = [str(design["find"].get("metric", ""))] if design.get("find") else []
    required += map(str, (design.get("compare") or {}).get("metrics") or ())
    required += [str(entry.get("metric", "")) for entry in design.get("require", ())]
    until = (design.get("repeat") or {}).get("until") or {}
    declared = (name for part in design.get("workload") or () for name in _list_declared(part))
    computed = (str(each["name"]) for each in design.get("metrics") or () if each.get("formula"))
    asked = (*required, str(until.get("metric", "")), *computed, *declared)
    return list(dict.fromkeys(name for name in asked if name))


def _list_declared(part: Mapping[str, Any]) -> Iterator[str]:
    """Of a part of the workload; where several are measured, the name of its phase stands before its own."""
    for name in (part.get("options") or {}).get("metrics") or ():
        yield str(name)
        yield f"{part.get('phase')}_{name}"


def select_primary(metrics: Iterable[Metric], first: Iterable[str] = ()) -> list[Metric]:
    """The scalars worth a column: those `named` first, then in their order those with a direction.

    Of the quantiles of one histogram only the median and the 99th percentile are taken: the others say much
    the same again. What a workload declares as secondary is taken only where it is named. When nothing has a
    direction, every scalar is primary.
    """
    scalars = {metric.name: metric for metric in metrics if metric.kind == "scalar"}
    chosen = [scalars[name] for name in dict.fromkeys(first) if name in scalars]
    directed = [metric for metric in scalars.values() if _is_telling(metric) and metric not in chosen]
    return chosen + directed or list(scalars.values())


def select_leading(metrics: Iterable[Metric], first: Collection[str] = ()) -> list[Metric]:
    """The primary ones that sentences speak of: all that are `named`, and some more where these are few."""
    chosen = select_primary(metrics, first)
    return chosen[: max(FEWEST_LEADING, sum(metric.name in first for metric in chosen))]


def choose_headline(metrics: Iterable[Metric], design: Mapping[str, Any]) -> Metric | None:
    """The one that a sentence about a run begins with; None where it has none."""
    return next(iter(select_leading(metrics, list_requested(design))), None)


def select_metrics(metrics: Iterable[Metric], patterns: Iterable[str]) -> list[Metric]:
    """The metrics of these names, which may be patterns such as `latency_*`. Raises UnknownName."""
    known = {metric.name: metric for metric in metrics}
    matches: dict[str, Metric] = {}
    for pattern in patterns:
        fitting = {n: metric for n, metric in known.items() if n == pattern or fnmatchcase(n, pattern)}
        if not fitting:
            raise UnknownName("metric", pattern, known, hint=f"there are {', '.join(known) or 'none'}")
        matches |= fitting
    return list(matches.values())


def sort_by_importance(metrics: Iterable[Metric], first: Iterable[str] = ()) -> list[Metric]:
    """All scalars, the primary ones first."""
    every = list(metrics)
    chosen = select_primary(every, first)
    return chosen + [metric for metric in every if metric.kind == "scalar" and metric not in chosen]


def _is_telling(metric: Metric) -> bool:
    if metric.secondary or metric.better == "none":
        return False
    return metric.quantile is None or metric.quantile in TELLING_QUANTILES
