"""Put a cell's levels into a workload's options, and make the workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from steelyard.errors import SpecError
from steelyard.model.experiment import Experiment, WorkloadUse
from steelyard.model.expression import substitute
from steelyard.model.trial import Cell, Scalar
from steelyard.plugins import find
from steelyard.spec.sentences import faults
from steelyard.workloads.base import Workload


def workload_class(name: str) -> type[Workload[Any]]:
    """The class of a workload. Raises UnknownName, PlugInError."""
    return find("workloads", name, Workload)  # type: ignore[type-abstract]


def bound_options(use: WorkloadUse, levels: Mapping[str, Scalar]) -> dict[str, Any]:
    """The options with each `${…}` replaced. Raises ExpressionError with the path of the option.

    A workload may keep options out of this (`Workload.verbatim`), as `script` is the shell's business.
    """
    verbatim = workload_class(use.use).verbatim
    kept = {key: value for key, value in use.options.items() if key in verbatim}
    rest = {key: value for key, value in use.options.items() if key not in verbatim}
    found: dict[str, Any] = substitute(rest, levels)
    return {**found, **kept}


def bound(use: WorkloadUse, cell: Cell) -> Workload[Any]:
    """The workload of a cell. Raises SpecError when its options do not fit; a checked file's do."""
    kind = workload_class(use.use)
    options = bound_options(use, cell.parameters)
    try:
        return kind(kind.options.model_validate(options), cell.parameters)
    except ValidationError as error:
        found = [
            f"{use.use} with {cell.key}: {fault.message}" for fault in faults(error, options, kind.options)
        ]
        raise SpecError(found) from error


def bound_all(experiment: Experiment, cell: Cell) -> list[tuple[WorkloadUse, Workload[Any]]]:
    """Every workload entry of the experiment with its workload in a cell."""
    return [(use, bound(use, cell)) for use in experiment.workload]
