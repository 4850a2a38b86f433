"""Put a cell's levels into a workload's options, and make the workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from steelyard.errors import PlugInError, SpecError, UnknownName
from steelyard.hosts.capturing import WAYS
from steelyard.model.control_groups import ControlGroups
from steelyard.model.environment import HasRemains
from steelyard.model.experiment import Experiment
from steelyard.model.expression import substitute
from steelyard.model.keys.image import MMDEBSTRAP, ImageRecipe
from steelyard.model.keys.plugin_use import short_name
from steelyard.model.keys.reference import Known, Placeholders, fill_script
from steelyard.model.keys.timeline import Entry
from steelyard.model.keys.uses import ServiceUse, WorkloadUse
from steelyard.model.keys.wrap import Conditions
from steelyard.model.tool import Tool
from steelyard.model.trial import Cell, Scalar
from steelyard.plugins import find
from steelyard.spec.conditions import read_conditions
from steelyard.spec.engines import give_engine
from steelyard.spec.faults import explain_errors
from steelyard.spec.program_paths import resolve_paths
from steelyard.spec.service_kinds import resolve_service, variants
from steelyard.tools.find import find_missing
from steelyard.workloads.base import Workload

if TYPE_CHECKING:
    from steelyard.collectors.base import Collector
    from steelyard.events.base import Event, EventContext
    from steelyard.services.base import Service
    from steelyard.services.kit.context import ServiceContext

ModelT = TypeVar("ModelT", bound=BaseModel)


def workload_class(name: str) -> type[Workload[Any]]:
    """The class of a workload. Raises UnknownName, PlugInError."""
    return find("workloads", name, Workload)  # type: ignore[type-abstract]


def bind_options(
    use: WorkloadUse, levels: Mapping[str, Scalar], known: Known | None = None
) -> dict[str, Any]:
    """The options with each `${…}` replaced. Raises ExpressionError with the path of the option.

    A workload may keep options out of this (`Workload.verbatim`), as `script` is the shell's business. What
    is not `known` yet has a stand-in.
    """
    return _fill_options(workload_class(use.plugin), use.options, Placeholders({**(known or {}), **levels}))


def bind_workload(use: WorkloadUse, cell: Cell, known: Known | None = None) -> Workload[Any]:
    """The workload of a cell. Raises SpecError when its options do not fit; a checked file's do."""
    kind = workload_class(use.plugin)
    options = bind_options(use, cell.parameters, known)
    validated = _validate_options(kind.Options, options, f"{use.use} with {cell.key}")
    return give_engine(kind(validated, cell.parameters))


def _fill_options(kind: Any, options: Mapping[str, Any], known: Placeholders) -> dict[str, Any]:
    """The options of a plug-in with all that is known: names, and files beside the experiment."""
    filled: dict[str, Any] = substitute({k: v for k, v in options.items() if k not in kind.verbatim}, known)
    for key in kind.verbatim & options.keys():
        value = options[key]
        filled[key] = fill_script(value, known) if isinstance(value, str) else value
    for path in kind.words:
        _resolve_words(filled, path.split("."), known)
    return filled


def _resolve_words(tree: dict[str, Any], steps: Sequence[str], known: Known) -> None:
    """Have the words at a place of the options name the files that they mean."""
    part = tree.get(steps[0])
    if isinstance(part, dict) and steps[1:]:
        _resolve_words(part, steps[1:], known)
    elif isinstance(part, list):
        tree[steps[0]] = resolve_paths(part, known)


def service_class(name: str) -> type[Service[Any]]:
    """The class of a service. Raises UnknownName, PlugInError."""
    from steelyard.services.base import Service  # loads asyncio, which a file without services spares

    return find("services", name, Service)  # type: ignore[type-abstract]


def has_capability(capability: type[Any], use: ServiceUse, experiment: Experiment) -> bool:
    """Whether a service has a capability, whatever its levels; also where it is none, which is said of it."""
    try:
        return all(issubclass(service_class(one.plugin), capability) for one in variants(use, experiment))
    except (UnknownName, PlugInError):
        return True


def can_grow(kind: type[Service[Any]]) -> bool:
    """Whether services of this class take in hosts while they are in use."""
    from steelyard.services.kit.capabilities import Growable

    return issubclass(kind, Growable)


def bind_service(
    use: ServiceUse, cell: Cell, context: ServiceContext, known: Known | None = None
) -> Service[Any]:
    """The service of a cell. Raises SpecError when its options do not fit; a checked file's do."""
    names, use = {**(known or {}), **cell.parameters}, resolve_service(use, cell.parameters)
    return make_service(service_class(use.plugin), use.options, context, names)


def make_service(
    kind: type[Service[Any]], options: Mapping[str, Any], context: ServiceContext, known: Known
) -> Service[Any]:
    """A service with these options; what it knows of itself later it asks its context to fill in."""

    def bind(own: Known) -> Any:
        return _validate_options(
            kind.Options, bind_service_options(kind, options, {**known, **own}), context.name
        )

    return kind(bind({}), replace(context, bind=bind))


def bind_service_options(
    kind: type[Service[Any]], options: Mapping[str, Any], known: Known
) -> dict[str, Any]:
    """As `bind_options`."""
    return _fill_options(kind, options, Placeholders(known))


def event_class(name: str) -> type[Event[Any]]:
    """The class of an event. Raises UnknownName, PlugInError."""
    from steelyard.events.base import Event

    return find("events", name, Event)  # type: ignore[type-abstract]


def bind_event(entry: Entry, cell: Cell, event_context: EventContext) -> Event[Any]:
    """The event of an entry in a cell. Raises SpecError when its options do not fit; a checked file's do."""
    kind = event_class(entry.plugin)
    return kind(
        _validate_options(kind.Options, bind_event_options(entry, cell, event_context.known), entry.do),
        event_context,
    )


def bind_event_options(entry: Entry, cell: Cell, known: Known | None = None) -> dict[str, Any]:
    """As `bind_options`."""
    filled: dict[str, Any] = substitute(entry.options, Placeholders({**(known or {}), **cell.parameters}))
    return filled


def collector_class(name: str) -> type[Collector[Any]]:
    """The class of a collector. Raises UnknownName, PlugInError."""
    from steelyard.collectors.base import Collector

    return find("collectors", name, Collector)  # type: ignore[type-abstract]


def bind_collector(name: str, options: Mapping[str, Any]) -> Collector[Any]:
    """A collector with these options. Raises SpecError when they do not fit; a checked file's do."""
    kind = collector_class(name)
    return kind(_validate_options(kind.Options, dict(options), name))


def _validate_options(model: type[ModelT], options: dict[str, Any], what: str) -> ModelT:
    """The options as the plug-in's own. Raises SpecError with a line for each that does not fit."""
    try:
        return model.model_validate(options)
    except ValidationError as error:
        messages = [f"{what}: {fault.message}" for fault in explain_errors(error, options, model)]
        raise SpecError(messages) from error


def list_tools(experiment: Experiment, cells: Sequence[Cell]) -> tuple[Tool, ...]:
    """The tools that these cells need, for their workloads and for the services, each once.

    Cells with the same services and conditions need the same, so that one of them is looked at.
    """
    by_needs = {(*_kinds(experiment, cell), *_conditions(experiment, cell)): cell for cell in reversed(cells)}
    return tuple(dict.fromkeys(tool for cell in by_needs.values() for tool in _iter_tools(experiment, cell)))


def _iter_tools(experiment: Experiment, cell: Cell) -> Iterator[Tool]:
    services = _services(experiment, cell)
    for use, workload in bind_all(experiment, cell):
        if read_conditions(use, cell.parameters).image:
            continue  # they are in the image
        yield from workload.tools(short_name(services[use.to].use) if use.to in services else None)
    for service in services.values():
        if not read_conditions(service, cell.parameters).image:
            yield from service_class(service.plugin).needs
    for collector in experiment.collect:
        yield from collector_class(collector.plugin).needs
    for conditions in _conditions(experiment, cell):
        yield from conditions.required_tools()
        yield from (WAYS[conditions.capture],) if conditions.capture else ()
        yield from (MMDEBSTRAP,) if conditions.recipe and conditions.recipe.suite else ()
        if conditions.environments:
            needs = [environment.needs for environment in conditions.environments]
            here = (tools for tools in needs if not find_missing(tools))
            yield from next(here, needs[0])


def list_recipes(experiment: Experiment, cells: Sequence[Cell]) -> dict[str, ImageRecipe]:
    """The images that these cells need and the file describes, by their names."""
    return {str(one.image): one.recipe for one in _all_conditions(experiment, cells) if one.recipe}


def list_caveats(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """What figures from the environments of these cells do not say, each once."""
    asked = _all_conditions(experiment, cells)
    environments = dict.fromkeys(one for conditions in asked for one in conditions.environments[:1])
    return [f"{one.name}: {one.caveat}" for one in environments if one.caveat]


def list_remains(experiment: Experiment, cells: Sequence[Cell]) -> list[HasRemains]:
    """All that may leave something when the processes of these cells are killed, each once."""
    asked = _all_conditions(experiment, cells)
    groups = [ControlGroups()] if any(conditions.limits.any for conditions in asked) else []
    return [*groups, *dict.fromkeys(one for conditions in asked for one in conditions.environments)]


def _all_conditions(experiment: Experiment, cells: Sequence[Cell]) -> list[Conditions]:
    return [conditions for cell in cells for conditions in _conditions(experiment, cell)]


def _conditions(experiment: Experiment, cell: Cell) -> list[Conditions]:
    uses: tuple[WorkloadUse | ServiceUse, ...] = (*experiment.workload, *experiment.services.values())
    return [read_conditions(use, cell.parameters) for use in uses if use.conditions]


def _services(experiment: Experiment, cell: Cell) -> dict[str, ServiceUse]:
    return {name: resolve_service(use, cell.parameters) for name, use in experiment.services.items()}


def _kinds(experiment: Experiment, cell: Cell) -> list[str]:
    return [use.plugin for use in _services(experiment, cell).values()]


def bind_all(
    experiment: Experiment, cell: Cell, known: Known | None = None
) -> list[tuple[WorkloadUse, Workload[Any]]]:
    """Every workload entry of the experiment with its workload in a cell."""
    return [(use, bind_workload(use, cell, known)) for use in experiment.workload]
