"""Put a cell's levels into a workload's options, and make the workload."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from steelyard.errors import PlugInError, SpecError, UnknownName
from steelyard.model.experiment import Experiment
from steelyard.model.expression import substitute
from steelyard.model.reference import Known, Unfilled, filled_script
from steelyard.model.timeline import Entry
from steelyard.model.tool import Tool
from steelyard.model.trial import Cell, Scalar
from steelyard.model.uses import ServiceUse, WorkloadUse
from steelyard.model.wrap import RUNTIMES, Conditions
from steelyard.plugins import find
from steelyard.spec.beside import placed
from steelyard.spec.kinds import service_use, variants
from steelyard.spec.sentences import faults
from steelyard.workloads.base import Workload

if TYPE_CHECKING:
    from steelyard.events.base import Event, Scene
    from steelyard.services.base import Service, ServiceContext

ModelT = TypeVar("ModelT", bound=BaseModel)


def workload_class(name: str) -> type[Workload[Any]]:
    """The class of a workload. Raises UnknownName, PlugInError."""
    return find("workloads", name, Workload)  # type: ignore[type-abstract]


def bound_options(
    use: WorkloadUse, levels: Mapping[str, Scalar], known: Known | None = None
) -> dict[str, Any]:
    """The options with each `${…}` replaced. Raises ExpressionError with the path of the option.

    A workload may keep options out of this (`Workload.verbatim`), as `script` is the shell's business. What
    is not `known` yet has a stand-in.
    """
    return _filled(workload_class(use.use), use.options, Unfilled({**(known or {}), **levels}))


def bound(use: WorkloadUse, cell: Cell, known: Known | None = None) -> Workload[Any]:
    """The workload of a cell. Raises SpecError when its options do not fit; a checked file's do."""
    kind = workload_class(use.use)
    options = bound_options(use, cell.parameters, known)
    return kind(_fitting(kind.options, options, f"{use.use} with {cell.key}"), cell.parameters)


def _filled(kind: Any, options: Mapping[str, Any], known: Unfilled) -> dict[str, Any]:
    """The options of a plug-in with all that is known: names, and files beside the experiment."""
    found: dict[str, Any] = substitute({k: v for k, v in options.items() if k not in kind.verbatim}, known)
    for key in kind.verbatim & options.keys():
        value = options[key]
        found[key] = filled_script(value, known) if isinstance(value, str) else value
    for path in kind.words:
        _place(found, path.split("."), known)
    return found


def _place(tree: dict[str, Any], steps: Sequence[str], known: Known) -> None:
    """Have the words at a place of the options name the files that they mean."""
    part = tree.get(steps[0])
    if isinstance(part, dict) and steps[1:]:
        _place(part, steps[1:], known)
    elif isinstance(part, list):
        tree[steps[0]] = placed(part, known)


def service_class(name: str) -> type[Service[Any]]:
    """The class of a service. Raises UnknownName, PlugInError."""
    from steelyard.services.base import Service  # loads asyncio, which a file without services spares

    return find("services", name, Service)  # type: ignore[type-abstract]


def are(capability: type[Any], use: ServiceUse, experiment: Experiment) -> bool:
    """Whether a service has a capability, whatever its levels; also where it is none, which is said of it."""
    try:
        return all(issubclass(service_class(one.use), capability) for one in variants(use, experiment))
    except (UnknownName, PlugInError):
        return True


def can_grow(kind: type[Service[Any]]) -> bool:
    """Whether services of this class take in hosts while they are in use."""
    from steelyard.services.base import Growable

    return issubclass(kind, Growable)


def bound_service(
    use: ServiceUse, cell: Cell, context: ServiceContext, known: Known | None = None
) -> Service[Any]:
    """The service of a cell. Raises SpecError when its options do not fit; a checked file's do."""
    names, use = {**(known or {}), **cell.parameters}, service_use(use, cell.parameters)
    return made_service(service_class(use.use), use.options, context, names)


def made_service(
    kind: type[Service[Any]], options: Mapping[str, Any], context: ServiceContext, known: Known
) -> Service[Any]:
    """A service with these options; what it knows of itself later it asks its context to fill in."""

    def bind(own: Known) -> Any:
        return _fitting(kind.options, service_options(kind, options, {**known, **own}), context.name)

    return kind(bind({}), replace(context, bind=bind))


def service_options(kind: type[Service[Any]], options: Mapping[str, Any], known: Known) -> dict[str, Any]:
    """As `bound_options`."""
    return _filled(kind, options, Unfilled(known))


def event_class(name: str) -> type[Event[Any]]:
    """The class of an event. Raises UnknownName, PlugInError."""
    from steelyard.events.base import Event

    return find("events", name, Event)  # type: ignore[type-abstract]


def bound_event(entry: Entry, cell: Cell, scene: Scene) -> Event[Any]:
    """The event of an entry in a cell. Raises SpecError when its options do not fit; a checked file's do."""
    kind = event_class(entry.do)
    return kind(_fitting(kind.options, event_options(entry, cell, scene.known), entry.do), scene)


def event_options(entry: Entry, cell: Cell, known: Known | None = None) -> dict[str, Any]:
    """As `bound_options`."""
    found: dict[str, Any] = substitute(entry.options, Unfilled({**(known or {}), **cell.parameters}))
    return found


def _fitting(model: type[ModelT], options: dict[str, Any], what: str) -> ModelT:
    """The options as the plug-in's own. Raises SpecError with a line for each that does not fit."""
    try:
        return model.model_validate(options)
    except ValidationError as error:
        found = [f"{what}: {fault.message}" for fault in faults(error, options, model)]
        raise SpecError(found) from error


def tools_of(experiment: Experiment, cells: Sequence[Cell]) -> tuple[Tool, ...]:
    """The tools that these cells need, for their workloads and for the services, each once.

    Cells with the same services and conditions need the same, so that one of them is looked at.
    """
    found = {
        (*_kinds(experiment, cell).values(), *_conditions(experiment, cell)): cell for cell in reversed(cells)
    }
    return tuple(dict.fromkeys(tool for cell in found.values() for tool in _tools(experiment, cell)))


def _tools(experiment: Experiment, cell: Cell) -> Iterator[Tool]:
    kinds = _kinds(experiment, cell)
    for use, workload in bound_all(experiment, cell):
        yield from workload.tools(kinds.get(use.to or ""))
    for kind in kinds.values():
        yield from service_class(kind).needs
    for conditions in _conditions(experiment, cell):
        yield from conditions.needs()
        if conditions.image:
            there = {name: bool(shutil.which(name)) for name in RUNTIMES}
            yield RUNTIMES[conditions.runtime(there) or conditions.runtimes()[0]]


def _conditions(experiment: Experiment, cell: Cell) -> list[Conditions]:
    uses: tuple[WorkloadUse | ServiceUse, ...] = (*experiment.workload, *experiment.services.values())
    return [Conditions.of(use.wrap, cell.parameters) for use in uses if use.wrap]


def _kinds(experiment: Experiment, cell: Cell) -> dict[str, str]:
    return {name: service_use(use, cell.parameters).use for name, use in experiment.services.items()}


def bound_all(
    experiment: Experiment, cell: Cell, known: Known | None = None
) -> list[tuple[WorkloadUse, Workload[Any]]]:
    """Every workload entry of the experiment with its workload in a cell."""
    return [(use, bound(use, cell, known)) for use in experiment.workload]
