"""The metrics that an experiment may record: of workloads, services and events, and computed ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from steelyard.errors import PlugInError, UnknownName
from steelyard.model.experiment import Experiment
from steelyard.model.keys.timeline import event_prefix
from steelyard.model.metric import Metric, launch_metrics
from steelyard.model.trial import Cell
from steelyard.spec.bind import bind_workload, event_class

MOST_CELLS_TRIED = 1000


def declared_metrics(experiment: Experiment, cells: tuple[Cell, ...]) -> dict[str, Metric]:
    """The metrics that any cell of the experiment may have, by name."""
    return measured_metrics(experiment, cells) | computed_metrics(experiment)


def computed_metrics(experiment: Experiment) -> dict[str, Metric]:
    """Those that the experiment computes of the others."""
    return {name: entry.metric(name) for name, entry in experiment.metrics.items()}


def measured_metrics(experiment: Experiment, cells: tuple[Cell, ...]) -> dict[str, Metric]:
    """Those of its workloads, services and events."""
    metrics: dict[str, Metric] = {}
    for cell in cells[:MOST_CELLS_TRIED]:
        for use in experiment.workload:
            if use.measured:
                metrics |= _prefix_all(bind_workload(use, cell).metrics(), experiment.metric_prefix(use))
    for name, service in experiment.services.items():
        if service.keep == "trial":
            metrics |= {metric.name: metric for metric in launch_metrics(name)}
    return metrics | _timeline_metrics(experiment)


def _timeline_metrics(experiment: Experiment) -> dict[str, Metric]:
    by_name: dict[str, Metric] = {}
    for index, entry in enumerate(experiment.timeline):
        if prefix := event_prefix(experiment.timeline, index):
            took = Metric("time", "s", "lower", f"how long the event {entry.do} took")
            metrics = (took, *_event_metrics(entry.plugin))
            by_name |= _prefix_all(metrics, prefix)
    return by_name


def _event_metrics(name: str) -> tuple[Metric, ...]:
    try:
        return event_class(name).metrics
    except (UnknownName, PlugInError):
        return ()  # that has been said of its entry


def _prefix_all(metrics: Iterable[Metric], prefix: str) -> dict[str, Metric]:
    return {prefix + metric.name: _add_prefix(metric, prefix) for metric in metrics}


def _add_prefix(metric: Metric, prefix: str) -> Metric:
    """The metric as a trial of several measured phases records it."""
    histogram = metric.histogram and prefix + metric.histogram
    return dataclasses.replace(metric, name=prefix + metric.name, histogram=histogram)
