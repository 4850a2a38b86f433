"""What a workload's jobs cannot be put under."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.errors import UsageError
from steelyard.model.expression import ExpressionError
from steelyard.model.keys.uses import WorkloadUse
from steelyard.model.trial import Cell
from steelyard.spec.conditions import read_conditions
from steelyard.spec.faults import Fault
from steelyard.workloads.base import Workload


def engine_faults(workload: Workload[Any], use: WorkloadUse, cell: Cell) -> Iterator[Fault]:
    """Conditions of a host for jobs that are elsewhere, in containers that their engine makes."""
    engine = workload.engine
    if engine is None or engine.list_stamps("any") is None:
        return
    try:
        conditions = read_conditions(use, cell.parameters)
    except (ExpressionError, UsageError):
        return  # that is told beside this
    if conditions.any:
        instead = f"set `image`, `requests` and `pod` of {workload.engine_name()} in sites.yaml instead"
        yield Fault(("wrap",), f"wrap: {engine.title} makes the containers of its jobs itself; {instead}")
