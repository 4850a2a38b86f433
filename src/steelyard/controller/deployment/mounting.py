"""On which hosts a service is to be mounted."""

from __future__ import annotations

from steelyard.controller.context import RunContext
from steelyard.controller.placement import Placement
from steelyard.hosts.base import Host
from steelyard.spec.bind import bind_all
from steelyard.spec.placement import resolve_placement


def find_mounting_hosts(name: str, context: RunContext, placement: Placement) -> tuple[Host, ...]:
    """The hosts of all workloads whose directory the service of this name is, in any cell.

    A service may live for several cells, and a mount cannot be had later than the service.
    """
    hosts: dict[str, Host] = {}
    for cell in context.design.cells:
        for use, workload in bind_all(context.experiment, cell):
            if workload.directory() == name:
                on = resolve_placement(use, cell.parameters, context.experiment).on
                hosts |= {slot.host.name: slot.host for slot in placement.select_slots(on)}
    return tuple(hosts.values())
