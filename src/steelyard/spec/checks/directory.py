"""What a workload's directory says of services."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.model.experiment import Experiment
from steelyard.model.paths import is_service
from steelyard.spec.bind import has_capability
from steelyard.spec.faults import Fault
from steelyard.spec.placement import describe_missing_service
from steelyard.spec.service_kinds import variants
from steelyard.workloads.base import Workload


def directory_faults(workload: Workload[Any], experiment: Experiment) -> Iterator[Fault]:
    """A directory that names no service, or one that holds no files."""
    name = workload.directory()
    if not is_service(name):
        return
    if name not in experiment.services:
        text = f"directory: {describe_missing_service(name, experiment)}"
        yield Fault(("directory",), f"{text}; or give 'scratch' or an absolute path")
        return
    from steelyard.services.kit.mounting import MountedService  # loads asyncio, which most files spare

    service = experiment.services[name]
    if not has_capability(MountedService, service, experiment):
        kinds = " or ".join(one.use for one in variants(service, experiment)) or service.use
        yield Fault(("directory",), f"directory: service '{name}' is {kinds}, which is not a file system")
