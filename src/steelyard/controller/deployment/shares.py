"""How services and workloads share the cores and the memory of a machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from steelyard.controller.placement import Placement
from steelyard.hosts.base import Host
from steelyard.model.experiment import Experiment
from steelyard.model.trial import Cell
from steelyard.services.kit.context import HostShare
from steelyard.spec.bind import service_class
from steelyard.spec.placement import resolve_placement, service_hosts
from steelyard.spec.service_kinds import resolve_service


def list_occupants(experiment: Experiment, placement: Placement, cell: Cell) -> list[Host]:
    """A host for each service and each workload on it: as many share its cores and memory."""
    hosts: list[Host] = []
    for use in experiment.services.values():
        if service_class(resolve_service(use, cell.parameters).plugin).is_external:
            continue
        for chosen in filter(None, service_hosts(use, cell.parameters)):
            hosts += [slot.host for slot in placement.select_slots(chosen)]
    workers = [
        placement.select_slots(resolve_placement(use, cell.parameters, experiment).on)
        for use in experiment.workload
    ]
    return [*hosts, *{slot.host.name: slot.host for seats in workers for slot in seats}.values()]


def share_machines(hosts: Iterable[Host], parties: Iterable[Host]) -> dict[str, HostShare]:
    """What each host has for one service: its machine in equal parts, since hosts may share a machine."""
    count = Counter(host.machine for host in parties)
    return {
        host.name: HostShare(max(1, host.cores // parts), host.memory // parts)
        for host in hosts
        if (parts := max(1, count[host.machine]))
    }
