"""Faults in `collect`: collectors, options, hosts and services that do not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from typing import TYPE_CHECKING, Any

from steelyard.errors import PlugInError, UnknownName, UsageError
from steelyard.model.experiment import Experiment
from steelyard.model.keys.collect import TELEMETRY, CollectorUse
from steelyard.model.keys.roles import Selection
from steelyard.spec.bind import collector_class
from steelyard.spec.faults import Fault
from steelyard.spec.placement import describe_missing_service, option_faults

if TYPE_CHECKING:
    from steelyard.collectors.base import Collector


class CollectChecker:
    """Looks for faults in `collect`. `exists` raises UsageError for hosts that are not there; what `broken`
    keys hold is not looked at."""

    def __init__(self, experiment: Experiment, exists: Callable[[Selection], None], broken: Set[str]) -> None:
        self.experiment, self._check_selection = experiment, exists
        self._knows_hosts = broken.isdisjoint({"roles", "services"})
        self._knows_telemetry = "telemetry" not in broken

    def faults(self) -> Iterator[Fault]:
        """All faults of the list."""
        for index, use in enumerate(self.experiment.collect):
            for fault in self._entry_faults(index, use):
                yield Fault(("collect", index, *fault.path), fault.message, fault.at_key)
        uses = [use.use for use in self.experiment.collect]
        if TELEMETRY in uses and self._knows_telemetry and TELEMETRY in self.experiment.model_fields_set:
            message = "telemetry: 'collect' lists it as well; remove one of them"
            yield Fault((TELEMETRY,), message, at_key=True)

    def _entry_faults(self, index: int, use: CollectorUse) -> Iterator[Fault]:
        yield from self._name_faults(index, use)
        try:
            kind = collector_class(use.plugin)
        except (UnknownName, PlugInError) as error:
            yield Fault(("use",), error.message)
            return
        levels = [key for key, value in use.options.items() if "${" in str(value)]
        for key in levels:
            yield Fault(
                (key,), f"{key}: a collector is the same in all cells; write a value without '${{…}}'"
            )
        if not levels:
            yield from option_faults(kind.Options, use.options)
        yield from self._target_faults(use, kind) if self._knows_hosts else ()

    def _name_faults(self, index: int, use: CollectorUse) -> Iterator[Fault]:
        """Two tables of one name would be one."""
        if use.name == TELEMETRY and use.use != TELEMETRY:
            yield Fault(("as",), f"as: the name '{TELEMETRY}' is reserved for the collector {TELEMETRY}")
        elif use.table in (other.table for other in self.experiment.collect[:index]):
            key = "as" if use.name else "use"
            yield Fault(
                (key,), f"{key}: another entry is recorded as '{use.table}'; add 'as: NAME' to this one"
            )

    def _target_faults(self, use: CollectorUse, kind: type[Collector[Any]]) -> Iterator[Fault]:
        if kind.looks_at == "service":
            yield from self._service_faults(use)
        else:
            yield from self._host_faults(use)

    def _host_faults(self, use: CollectorUse) -> Iterator[Fault]:
        if use.service is not None:
            message = f"from: collector {use.use} looks at hosts; remove 'from', and pick the hosts with 'on'"
            yield Fault(("from",), message, at_key=True)
        if use.on is not None:
            try:
                self._check_selection(Selection.parse(use.on))
            except UsageError as error:
                yield Fault(("on",), f"on: {error.message}")

    def _service_faults(self, use: CollectorUse) -> Iterator[Fault]:
        if use.on is not None:
            message = (
                f"on: collector {use.use} looks at a service; remove 'on', and name the service with 'from'"
            )
            yield Fault(("on",), message, at_key=True)
        if use.service is None:
            yield Fault((), f"'from' is missing: name the service that {use.use} looks at")
        elif use.service not in self.experiment.services:
            yield Fault(("from",), f"from: {describe_missing_service(use.service, self.experiment)}")
