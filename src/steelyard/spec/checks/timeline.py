"""Faults in the entries of `timeline`: events, phases, services and conditions that do not exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from steelyard.errors import PlugInError, UnknownName, UsageError, suggest_name
from steelyard.model.experiment import Experiment
from steelyard.model.expression import ExpressionError, substitute
from steelyard.model.keys.condition import parse_condition
from steelyard.model.keys.timeline import SETTLED, Entry
from steelyard.model.keys.uses import ServiceUse, WorkloadUse
from steelyard.model.keys.wrap import find_inside
from steelyard.model.trial import Cell
from steelyard.spec.bind import bind_event_options, event_class, has_capability
from steelyard.spec.faults import Fault
from steelyard.spec.placement import (
    count_picked_hosts,
    describe_missing_service,
    option_faults,
    service_hosts,
)

if TYPE_CHECKING:
    from steelyard.events.base import Event

ONLY = "run"
"""What an only entry of `workload` is called that has no `phase`."""


def find_phase(entry: Entry, experiment: Experiment) -> WorkloadUse | None:
    """The entry of `workload` during which an event fires; None when there is none of that name.

    An only entry without a name of its own is `run`.
    """
    if entry.during is None:
        return next((use for use in experiment.workload if use.measured), experiment.workload[0])
    return next((use for use in experiment.workload if entry.during == (use.phase or ONLY)), None)


class TimelineChecker:
    """Looks for faults in a timeline."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    def entry_faults(self, index: int, cell: Cell) -> Iterator[Fault]:
        """What is wrong with an entry in a cell."""
        entry = self.experiment.timeline[index]
        for fault in (
            *self._phase_faults(entry),
            *self._condition_faults(entry),
            *self._event_faults(entry, cell),
        ):
            varies = fault.path and "${" in str(entry.options.get(str(fault.path[0])))
            message = fault.message + (f", with {cell.key}" if varies and not fault.at_key else "")
            yield Fault(("timeline", index, *fault.path), message, fault.at_key)

    def _phase_faults(self, entry: Entry) -> Iterator[Fault]:
        if find_phase(entry, self.experiment) is None:
            phases = [use.phase or ONLY for use in self.experiment.workload]
            there = f"; phases are {', '.join(phases)}"
            hint = suggest_name(str(entry.during), phases) or there
            yield Fault(("during",), f"during: there is no phase '{entry.during}'{hint}")

    def _condition_faults(self, entry: Entry) -> Iterator[Fault]:
        """Only `settled` can be told for certain: what figures a service tells, it says once it runs."""
        for name in sorted(parse_condition(entry.when).names) if entry.when else ():
            for fault in state_faults(name, self.experiment):
                yield Fault(("when",), f"when: {fault}")

    def _event_faults(self, entry: Entry, cell: Cell) -> Iterator[Fault]:
        try:
            kind = event_class(entry.plugin)
            options = bind_event_options(entry, cell)
        except (UnknownName, PlugInError) as error:
            yield Fault(("do",), f"do: {error.message}")
            return
        except ExpressionError as error:
            yield Fault(error.path, error.message)
            return
        yield from option_faults(kind.Options, options)
        if kind.permission and kind.permission not in self.experiment.allow:
            message = f"do: {entry.do} acts on what others may use as well"
            yield Fault(("do",), f"{message}; add `allow: {kind.permission}` to the file")
        if kind.capability is not None and "service" in options:
            yield from self._capability_faults(entry.do, kind, str(options["service"]), cell)
            yield from self._node_faults(options, cell)

    def _capability_faults(
        self, event: str, kind: type[Event[Any]], service: str, cell: Cell
    ) -> Iterator[Fault]:
        use, capability = self.experiment.services.get(service), kind.capability
        if use is None:
            yield Fault(("service",), f"service: {describe_missing_service(service, self.experiment)}")
            return
        if capability and not has_capability(capability, use, self.experiment):
            yield Fault(
                ("service",), f"service: {use.use} is not {capability.__name__.lower()}, so no {event}"
            )
        elif inside := _find_container(use, cell):
            message = f"service: '{service}' runs in a container, where events cannot reach it"
            yield Fault(("service",), f"{message}; remove `in: {inside}` and `image`, or say `in: host`")
        elif kind.needs_spare_hosts and use.grow_into is None:
            yield Fault(("service",), f"service: '{service}' has no hosts to grow into; add 'grow_into'")

    def _node_faults(self, options: Mapping[str, Any], cell: Cell) -> Iterator[Fault]:
        """Whether the service has a host of this number, as far as that can be told without a site."""
        use, node = self.experiment.services.get(str(options["service"])), options.get("node")
        if use is None or not isinstance(node, int):
            return
        try:
            selections = filter(None, service_hosts(use, cell.parameters))
            counts = [count_picked_hosts(self.experiment, selection) for selection in selections]
        except (UsageError, ExpressionError):
            return  # that has been said where it is deployed
        known = sum(count for count in counts if count is not None)
        if None not in counts and node >= known:
            yield Fault(
                ("node",),
                f"node: {node} is out of range; '{options['service']}' has {known} hosts, counted from 0",
            )


def state_faults(name: str, experiment: Experiment) -> Iterator[str]:
    """Why a name in a condition, such as `ring.settled`, is no state of a service."""
    service, dot, what = name.partition(".")
    if not dot:
        hint = f"; write a service and one of its states, such as {name}.{SETTLED}"
        yield f"'{name}' is not a state of a service{hint}"
    elif service not in experiment.services:
        yield describe_missing_service(service, experiment)
    elif what != SETTLED and not _is_metered(service, experiment):
        yield f"service {experiment.services[service].use} reports no figures, only {SETTLED}"


def _is_metered(name: str, experiment: Experiment) -> bool:
    from steelyard.services.kit.capabilities import Metered

    return has_capability(Metered, experiment.services[name], experiment)


def _find_container(use: ServiceUse, cell: Cell) -> str | None:
    """What surrounds a service in a cell; what is wrong with it is told with the service."""
    with suppress(UsageError, ExpressionError):
        return find_inside(substitute(use.wrap.settings(), cell.parameters)) if use.wrap else None
    return None
