"""Faults in the entries of `alert`: services and figures that do not exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from steelyard.errors import suggest_name
from steelyard.model.experiment import Experiment
from steelyard.model.keys.condition import parse_condition
from steelyard.model.metric import Metric
from steelyard.spec.checks.timeline import state_faults
from steelyard.spec.faults import Fault


def alert_faults(experiment: Experiment, metrics: Mapping[str, Metric]) -> Iterator[Fault]:
    """What is wrong with them; `metrics` are those that the workload measures."""
    for index, rule in enumerate(experiment.alert):
        names = sorted(parse_condition(rule.when).names)
        for name in names:
            fault = _explain_name(name, experiment, metrics)
            if fault:
                yield Fault(("alert", index, "when"), f"when: {fault}")


def _explain_name(name: str, experiment: Experiment, metrics: Mapping[str, Metric]) -> str:
    """Why a name means nothing; empty where it does."""
    if "." in name:
        return next(state_faults(name, experiment), "")
    if name in metrics:
        return ""
    known = [metric.name for metric in metrics.values() if metric.kind == "scalar"]
    there = f"; figures are {', '.join(known[:12])}" if known else ""
    hint = suggest_name(name, known) or there
    return f"'{name}' is neither a figure of the workload nor a state of a service{hint}"
