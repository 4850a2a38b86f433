"""What is wrong with services in a cell: their kinds, their options, their conditions, their hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from steelyard.errors import PlugInError, UnknownName, UsageError
from steelyard.model.experiment import Experiment
from steelyard.model.expression import ExpressionError
from steelyard.model.keys.roles import Selection
from steelyard.model.keys.uses import ServiceUse
from steelyard.model.trial import Cell
from steelyard.spec.bind import bind_service_options, can_grow, service_class
from steelyard.spec.conditions import read_conditions
from steelyard.spec.faults import Fault
from steelyard.spec.placement import count_picked_hosts, option_faults, service_hosts
from steelyard.spec.service_kinds import option_hint, option_path, resolve_service


class ServiceChecker:
    """Looks for faults in services. `exists` raises UsageError for hosts that are not there."""

    def __init__(self, experiment: Experiment, exists: Callable[[Selection], None]) -> None:
        self.experiment, self._check_selection = experiment, exists

    def service_faults(self, name: str, cell: Cell) -> Iterator[Fault]:
        """What is wrong with a service in a cell: its name, its options, hosts that are not there."""
        use = self.experiment.services[name]
        suffix = f", with {cell.key}" if cell.parameters and "${" in str(use.settings()) else ""
        for fault in (*self._variant_faults(use, cell), *self._host_faults(use, cell)):
            message = fault.message + ("" if fault.at_key or fault.path == ("use",) else suffix)
            yield Fault(("services", name, *fault.path), message, fault.at_key)

    def _variant_faults(self, use: ServiceUse, cell: Cell) -> Iterator[Fault]:
        """With the options of the kind that it is in a cell."""
        try:
            variant = resolve_service(use, cell.parameters)
        except ExpressionError as error:
            yield Fault(error.path, error.message)
            return
        for fault in self._option_faults(variant, cell):
            place = option_path(use, variant.use, fault.path)
            more = (
                option_hint(use, self.experiment, variant.use) if fault.at_key and place == fault.path else ""
            )
            separator = " " if fault.message.endswith("?") else "; "
            message = separator.join(filter(None, (fault.message, more)))
            yield Fault(place, message, fault.at_key)

    def _option_faults(self, use: ServiceUse, cell: Cell) -> Iterator[Fault]:
        try:
            kind = service_class(use.plugin)
            options = bind_service_options(kind, use.options, cell.parameters)
            wrong = option_faults(kind.Options, options)
            yield from wrong or self._shortage_faults(
                use, cell, kind.min_hosts(kind.Options.model_validate(options))
            )
        except (UnknownName, PlugInError) as error:
            yield Fault(("use",), error.message)
        except ExpressionError as error:
            yield Fault(error.path, error.message)
        except UsageError:
            return  # of its hosts, which are looked at beside this
        else:
            if use.grow_into is not None and not can_grow(kind):
                yield Fault(("grow_into",), f"grow_into: service {use.use} cannot grow during use")

    def _host_faults(self, use: ServiceUse, cell: Cell) -> Iterator[Fault]:
        try:
            read_conditions(use, cell.parameters)
        except ExpressionError as error:
            yield Fault(("wrap", *error.path), error.message)
        except UsageError as error:
            yield Fault(("wrap",), f"wrap: {error.message}")
        try:
            on, spare = service_hosts(use, cell.parameters)
        except ExpressionError as error:
            yield Fault(error.path, error.message)
        except UsageError as error:
            yield Fault(("on",), f"on: {error.message}")
        else:
            yield from self._selection_faults(on, "on")
            if spare is not None:
                yield from self._selection_faults(spare, "grow_into")
                if spare.has_overlap(on):
                    yield Fault(
                        ("grow_into",), f"grow_into: '{spare}' has hosts of '{on}', where it is already"
                    )

    def _shortage_faults(self, use: ServiceUse, cell: Cell, least: int) -> Iterator[Fault]:
        count = count_picked_hosts(self.experiment, service_hosts(use, cell.parameters)[0])
        if count is not None and count < least:
            yield Fault(
                ("on",), f"on: {use.use} with these options needs {least} hosts, but '{use.on}' has {count}"
            )

    def _selection_faults(self, selection: Selection, key: str) -> Iterator[Fault]:
        try:
            self._check_selection(selection)
        except UsageError as error:
            yield Fault((key,), f"{key}: {error.message}")
