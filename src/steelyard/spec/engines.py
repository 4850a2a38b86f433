"""The batch engines that workloads submit jobs to: sites, by their names."""

from __future__ import annotations

from typing import Any, TypeVar

from steelyard.errors import UnknownName, UsageError
from steelyard.model.engine import Engine
from steelyard.spec.sites import resolve
from steelyard.workloads.base import Workload

WorkloadT = TypeVar("WorkloadT", bound=Workload[Any])


def find_engine(name: str) -> Engine:
    """The engine of a site, as `--site` would call it. Raises SteelyardError."""
    try:
        return resolve(name).site.engine()
    except UnknownName as error:
        raise UsageError(f"engine: {error.message}", hint=error.hint) from error


def give_engine(workload: WorkloadT) -> WorkloadT:
    """The workload, with the engine that it names, if it does. Raises as `find_engine`."""
    name = workload.engine_name()
    if name is not None:
        workload.engine = find_engine(name)
    return workload
