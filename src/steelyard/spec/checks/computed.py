"""Faults in the entries of `metrics`: names that are taken or unknown, and figures computed of themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from graphlib import CycleError

from steelyard.errors import suggest_name
from steelyard.model.experiment import Experiment
from steelyard.model.keys.computed import ComputedMetric, is_number, order_metrics
from steelyard.model.metric import Metric
from steelyard.spec.faults import Fault

MOST_LISTED = 12


def computed_faults(
    experiment: Experiment, measured: Mapping[str, Metric], lost: Set[str] = frozenset()
) -> Iterator[Fault]:
    """What is wrong with them.

    `measured` are the metrics that the experiment has without them, `lost` those that could not be read.
    """
    for name, entry in experiment.metrics.items():
        if name in measured:
            message = f"metrics: '{name}' is already the name of a measured metric; choose another name"
            yield Fault(("metrics", name), message, at_key=True)
        for operand in sorted(entry.expression.names - lost):
            if complaint := _complaint(operand, experiment, measured):
                yield Fault(("metrics", name, "is"), f"{name}: {complaint}")
    yield from _cycle_faults(experiment.metrics)


def _complaint(operand: str, experiment: Experiment, measured: Mapping[str, Metric]) -> str:
    """Why a name cannot be reckoned with; empty if it can."""
    scalars = [name for name, metric in measured.items() if metric.kind == "scalar"]
    figures = [*experiment.metrics, *scalars]
    if operand in experiment.parameters:
        if operand in figures:
            return f"'{operand}' is both a parameter and a metric; rename the parameter"
        levels = experiment.parameters[operand].values()
        return "" if all(map(is_number, levels)) else f"the levels of '{operand}' are not numbers"
    if operand in figures:
        return ""
    listed = ", ".join(scalars[:MOST_LISTED])
    return f"there is no metric '{operand}'{suggest_name(operand, figures) or f'; metrics are {listed}'}"


def _cycle_faults(computed: Mapping[str, ComputedMetric]) -> Iterator[Fault]:
    try:
        order_metrics(computed)
    except CycleError as error:
        names = [str(name) for name in reversed(error.args[1])]
        yield Fault(
            ("metrics", names[0], "is"), f"{names[0]}: its computation depends on itself: {', '.join(names)}"
        )
