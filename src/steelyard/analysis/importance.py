"""Which metrics of a run matter most: what a narrow table shows and what a comparison tests first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from steelyard.model.metric import Metric

TELLING_QUANTILES = (0.5, 0.99)


def named(design: Mapping[str, Any]) -> list[str]:
    """The metrics that the experiment itself asks about: in its search, its requirements, its stop rule; then
    those that it computes or declares, which its workload would not have by itself.
    """
    required = [str(design["find"].get("metric", ""))] if design.get("find") else []
    required += [str(entry.get("metric", "")) for entry in design.get("require", ())]
    until = (design.get("repeat") or {}).get("until") or {}
    declared = (name for part in design.get("workload") or () for name in _declared(part))
    asked = (*required, str(until.get("metric", "")), *(design.get("computed") or ()), *declared)
    return list(dict.fromkeys(name for name in asked if name))


def _declared(part: Mapping[str, Any]) -> Iterator[str]:
    """Of a part of the workload; where several are measured, the name of its phase stands before its own."""
    for name in (part.get("options") or {}).get("metrics") or ():
        yield str(name)
        yield f"{part.get('phase')}_{name}"


def primary(metrics: Iterable[Metric], first: Iterable[str] = ()) -> list[Metric]:
    """The scalars worth a column: those `named` first, then in their order those with a direction.

    Of the quantiles of one histogram only the median and the 99th percentile are taken: the others say much
    the same again. What a workload declares as secondary is taken only where it is named. When nothing has a
    direction, every scalar is primary.
    """
    scalars = {metric.name: metric for metric in metrics if metric.kind == "scalar"}
    chosen = [scalars[name] for name in dict.fromkeys(first) if name in scalars]
    directed = [metric for metric in scalars.values() if _telling(metric) and metric not in chosen]
    return chosen + directed or list(scalars.values())


def by_importance(metrics: Iterable[Metric], first: Iterable[str] = ()) -> list[Metric]:
    """All scalars, the primary ones first."""
    every = list(metrics)
    chosen = primary(every, first)
    return chosen + [metric for metric in every if metric.kind == "scalar" and metric not in chosen]


def _telling(metric: Metric) -> bool:
    if metric.secondary or metric.better == "none":
        return False
    return metric.quantile is None or metric.quantile in TELLING_QUANTILES
