"""Where a workload runs in a cell, and in how many copies: `on`, `copies` and `to` of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from steelyard.errors import UnknownName, UsageError, suggest_name
from steelyard.launchers import list_launchers
from steelyard.model.experiment import Experiment
from steelyard.model.expression import ExpressionError, find_names, substitute
from steelyard.model.keys.machine import read_settings
from steelyard.model.keys.plugin_use import short_name
from steelyard.model.keys.roles import Count, RoleClaim, Selection, count_needed_hosts
from steelyard.model.keys.uses import ServiceUse, WorkloadUse
from steelyard.model.trial import Cell, Scalar
from steelyard.plugins import exists
from steelyard.spec.bind import workload_class
from steelyard.spec.conditions import read_conditions
from steelyard.spec.faults import Fault, Path, explain_errors
from steelyard.spec.service_kinds import variants
from steelyard.workloads.base import ANY_SERVICE

MOST_COPIES = 100_000
Copies = int | Literal["cores"]


@dataclass(frozen=True, slots=True)
class WorkloadPlacement:
    """The hosts of a workload entry in a cell, and how many copies each of them runs.

    With `ranks` it is one copy of a parallel program, with so many ranks on each host.
    """

    on: Selection
    copies: Copies
    ranks: Copies | None = None


def resolve_placement(
    use: WorkloadUse, levels: Mapping[str, Scalar], experiment: Experiment
) -> WorkloadPlacement:
    """Put a cell's levels into `on` and `copies`. Raises UsageError, ExpressionError.

    Without `on` it is all of the first role.
    """
    return WorkloadPlacement(_selection(use, levels, experiment), _copies(use, levels), _ranks(use, levels))


def _selection(use: WorkloadUse, levels: Mapping[str, Scalar], experiment: Experiment) -> Selection:
    if use.on is None:
        return Selection(next(iter(experiment.claims)))
    return Selection.parse(str(substitute({"on": use.on}, levels)["on"]))


def _copies(use: WorkloadUse, levels: Mapping[str, Scalar]) -> Copies:
    return _check_count(substitute({"copies": use.copies}, levels)["copies"])


def _ranks(use: WorkloadUse, levels: Mapping[str, Scalar]) -> Copies | None:
    if use.ranks is None:
        return None
    if use.copies != 1:
        raise UsageError("a program with ranks runs once; remove copies")
    return _check_count(substitute({"ranks": use.ranks}, levels)["ranks"])


def _check_count(value: object) -> Copies:
    if value == "cores":
        return "cores"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_COPIES:
        raise UsageError(f"{value!r} is neither a number from 1 to {MOST_COPIES:,} nor 'cores'")
    return value


def trim_claims(experiment: Experiment, cells: Iterable[Cell]) -> dict[str, RoleClaim]:
    """The roles, none larger than these cells use it; one that none of them uses is left out."""
    whole, used = experiment.claims, dict[str, Count]()
    for selection in _selections(experiment, cells):
        wanted: Count = whole[selection.role].hosts if selection.last is None else selection.last
        for role in filter(None, (selection.role, whole[selection.role].shares)):
            used[role] = _pick_larger(used.get(role, 0), wanted)
    return {role: RoleClaim(used[role], claim.shares) for role, claim in whole.items() if role in used}


def service_hosts(use: ServiceUse, levels: Mapping[str, Scalar]) -> tuple[Selection, Selection | None]:
    """Hosts of a service in a cell, and those into which it may grow. Raises UsageError, ExpressionError."""
    asked = substitute({"on": use.on, "grow_into": use.grow_into}, levels)
    spare = asked["grow_into"]
    return Selection.parse(str(asked["on"])), None if spare is None else Selection.parse(str(spare))


def count_picked_hosts(experiment: Experiment, selection: Selection) -> int | None:
    """How many hosts a selection picks; None where that depends on the site, or there is no such role."""
    role = experiment.roles.get(selection.role)
    last = selection.last or (role.hosts if role and isinstance(role.hosts, int) else None)
    return None if last is None else last - selection.first


def count_used_hosts(experiment: Experiment, cell: Cell) -> int | None:
    """How many hosts of the site a cell keeps busy; None when that depends on the site."""
    return count_needed_hosts(trim_claims(experiment, [cell]))


def host_counts(experiment: Experiment, cells: Iterable[Cell]) -> list[int]:
    """The different numbers of hosts that cells use, smallest first; none where that depends on the site."""
    counts = {count_used_hosts(experiment, cell) for cell in cells}
    return [] if None in counts else sorted(size or 0 for size in counts)


def _selections(experiment: Experiment, cells: Iterable[Cell]) -> Iterator[Selection]:
    for cell in cells:
        for use in experiment.workload:
            yield resolve_placement(use, cell.parameters, experiment).on
        for service in experiment.services.values():
            yield from filter(None, service_hosts(service, cell.parameters))


def _pick_larger(a: Count, b: Count) -> Count:
    return "all" if "all" in (a, b) else max(int(a), int(b))


def describe_missing_service(name: str, experiment: Experiment) -> str:
    """A sentence for a service that an experiment does not have."""
    hint = suggest_name(name, experiment.services)
    there = ", ".join(experiment.services) or "none"
    return f"there is no service '{name}'{hint or f'; services are {there}'}"


def option_faults(model: type[BaseModel], options: Mapping[str, Any]) -> list[Fault]:
    """What is wrong with the options of a plug-in that has no parameters in them."""
    try:
        model.model_validate(options)
    except ValidationError as error:
        return list(explain_errors(error, options, model))
    return []


class PlacementChecker:
    """Looks for faults in roles, and in where workloads run."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    def role_faults(self) -> Iterator[Fault]:
        """Roles that share with one that is not there, or that shares itself."""
        for name, role in self.experiment.roles.items():
            path: Path = ("roles", name, "shares")
            if role.shares is None:
                continue
            other = self.experiment.roles.get(role.shares)
            if other is None or role.shares == name:
                yield Fault(path, f"shares: {self._describe_missing_role(role.shares)}")
            elif other.shares is not None:
                yield Fault(
                    path,
                    f"shares: role '{role.shares}' shares the hosts of '{other.shares}'; name that role "
                    "instead",
                )
        takers = [
            name for name, role in self.experiment.roles.items() if role.hosts == "all" and not role.shares
        ]
        if len(takers) > 1:
            yield Fault(("roles", takers[1]), f"only one role can take all hosts; '{takers[0]}' already does")
        yield from self._wrap_faults()

    def machine_faults(self, name: str, cell: Cell) -> Iterator[Fault]:
        """What the machines of a role cannot be set to in a cell."""
        asked, path = self.experiment.roles[name].machine, ("roles", name, "machine")
        try:
            read_settings(asked, cell.parameters) if asked else []
        except ExpressionError as error:
            yield Fault((*path, *error.path), error.message)
        except UsageError as error:
            key = error.message.partition(":")[0]
            varies = "${" in str(asked.settings().get(key)) if asked else False
            yield Fault((*path, key), error.message + (f", with {cell.key}" if varies else ""))

    def _wrap_faults(self) -> Iterator[Fault]:
        """Conditions of a role are those of what names it: a level would say too late which role that is."""
        wrapping = [name for name, role in self.experiment.roles.items() if role.wrap]
        uses: list[tuple[Path, WorkloadUse | ServiceUse]] = [
            *((("workload", index), use) for index, use in enumerate(self.experiment.workload)),
            *((("services", name), use) for name, use in self.experiment.services.items()),
        ]
        for path, use in uses if wrapping else ():
            if "$" in (use.on or "").partition("[")[0]:
                message = f"on: name the role itself, since role '{wrapping[0]}' has `wrap`"
                yield Fault((*path, "on"), message)

    def workload_faults(self, use: WorkloadUse, path: Path) -> Iterator[Fault]:
        """What can be told without levels: names in `${…}` are not looked at here."""
        if use.launcher is not None and use.launcher not in list_launchers():
            message = UnknownName("launcher", use.launcher, sorted(list_launchers())).message
            yield Fault((*path, "launcher"), f"{message}; there are {', '.join(sorted(list_launchers()))}")
        if use.to is None:
            return
        if use.to in self.experiment.services:
            for service in variants(self.experiment.services[use.to], self.experiment):
                yield from self._service_kind_faults(use, service, (*path, "to"))
            return
        yield Fault((*path, "to"), f"to: {describe_missing_service(use.to, self.experiment)}")

    def _service_kind_faults(self, use: WorkloadUse, service: ServiceUse, path: Path) -> Iterator[Fault]:
        known = workload_class(use.plugin).find_services()
        if not known & {short_name(service.use), ANY_SERVICE} and exists("services", service.plugin):
            hint = f"it works with {', '.join(sorted(known))}" if known else "it works with no service"
            yield Fault(path, f"to: workload {use.use} cannot work with service {service.use}; {hint}")

    def names(self, use: WorkloadUse, path: Path) -> Iterator[tuple[Path, str]]:
        """The parameters that `on` and `copies` name. Raises ExpressionError."""
        for place, name in find_names(use.settings()):
            yield (*path, *place), name

    def cell_faults(self, use: WorkloadUse, path: Path, cell: Cell) -> Iterator[Fault]:
        """Whether the entry finds its hosts in a cell."""
        suffix = f", with {cell.key}" if any("${" in str(value) for value in use.settings().values()) else ""
        readers = (("on", self._check_on), ("copies", _copies), ("ranks", _ranks), ("wrap", read_conditions))
        for key, read in readers:
            try:
                read(use, cell.parameters)
            except ExpressionError as error:
                yield Fault((*path, *error.path), error.message + suffix)
            except UsageError as error:
                yield Fault((*path, key), f"{key}: {error.message}{suffix}")

    def _check_on(self, use: WorkloadUse, levels: Mapping[str, Scalar]) -> None:
        self.check_selection(_selection(use, levels, self.experiment))

    def check_selection(self, found: Selection) -> None:
        """Raises UsageError where a selection picks what is not there, as far as that can be told."""
        if found.role not in self.experiment.claims:
            raise UsageError(self._describe_missing_role(found.role))
        if self.experiment.roles and (size := self._size(found.role)):
            found.select({found.role: range(size)})

    def _size(self, role: str) -> int | None:
        count = self.experiment.roles[role].hosts
        return count if isinstance(count, int) else None

    def _describe_missing_role(self, name: str) -> str:
        hint = suggest_name(name, self.experiment.claims)
        return f"there is no role '{name}'{hint or '; roles are ' + ', '.join(self.experiment.claims)}"
