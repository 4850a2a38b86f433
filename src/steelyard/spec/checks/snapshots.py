"""Faults in what an experiment says of its services' data: `recover`, `save`, `reset`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from steelyard.errors import PlugInError, UnknownName, UsageError
from steelyard.model.experiment import Experiment
from steelyard.model.keys.timeline import Entry
from steelyard.model.keys.uses import ServiceUse
from steelyard.model.lifetimes import list_preparations
from steelyard.spec.bind import event_class, has_capability, service_class
from steelyard.spec.checks.timeline import find_phase
from steelyard.spec.faults import Fault
from steelyard.spec.service_kinds import variants


def snapshot_faults(experiment: Experiment) -> Iterator[Fault]:
    """All that can be told without a site."""
    for name, use in experiment.services.items():
        for fault in _service_faults(use, experiment):
            yield Fault(("services", name, *fault.path), fault.message)
    if experiment.prepares_once:
        yield from _reset_faults(experiment)


def _service_faults(use: ServiceUse, experiment: Experiment) -> Iterator[Fault]:
    places = {"recover": use.recover and use.recover.place, "save": use.save and use.save.into}
    keys = {"recover": "from", "save": "into"}
    for key in ("recover", "save"):
        if getattr(use, key) is None:
            continue
        if not _can_snapshot(use, experiment):
            yield Fault((key,), f"{key}: service {use.use} does not support snapshots of its data")
        place = places[key]
        if place and "${" not in place and (wrong := _place_problem(place)):
            yield Fault((key, keys[key]), f"{keys[key]}: {wrong}")
    if use.save and use.keep != "run":
        yield Fault(("save",), "save: a service can be saved only with 'keep: run'")


def _reset_faults(experiment: Experiment) -> Iterator[Fault]:
    reset = f"with 'reset: {experiment.reset}'"
    can_reset, needed = _RESETS[experiment.reset]
    if not any(can_reset(use, experiment) for use in experiment.services.values()):
        yield Fault(("reset",), f"reset: '{experiment.reset}' needs {needed}")
    prepared = {use.phase for use in list_preparations(experiment)}
    for index, entry in enumerate(experiment.timeline):
        phase = find_phase(entry, experiment)
        service = experiment.services.get(str(entry.options.get("service")))
        if phase and phase.phase in prepared:
            message = f"during: {reset}, the phase '{phase.phase}' does not run in every trial"
            yield Fault(("timeline", index, "during"), message)
        elif service and service.keep != "trial" and _changes_hosts(entry):
            message = (
                f"do: {reset}, each repetition begins with the same nodes, so '{entry.do}' "
                f"needs 'keep: trial' for '{entry.options['service']}'"
            )
            yield Fault(("timeline", index, "do"), message)


def _changes_hosts(entry: Entry) -> bool:
    """Whether its event does; not one that cannot be loaded, which is said elsewhere."""
    try:
        return event_class(entry.plugin).changes_hosts
    except (UnknownName, PlugInError):
        return False


def _can_snapshot(use: ServiceUse, experiment: Experiment) -> bool:
    from steelyard.services.kit.capabilities import Snapshottable

    return has_capability(Snapshottable, use, experiment)


def _can_checkpoint(use: ServiceUse, experiment: Experiment) -> bool:
    from steelyard.services.kit.capabilities import Checkpointable

    try:
        kinds = [(service_class(one.plugin), one.options) for one in variants(use, experiment)]
    except (UnknownName, PlugInError):
        return True  # which is said elsewhere
    return all(
        issubclass(kind, Checkpointable) and kind.is_checkpointable(options) for kind, options in kinds
    )


_RESETS: Mapping[str, tuple[Callable[[ServiceUse, Experiment], bool], str]] = {
    "snapshot": (_can_snapshot, "a service that supports snapshots of its data"),
    "checkpoint": (
        _can_checkpoint,
        "a service that can save the state of its servers; give one of 'use: program' its 'checkpoint'",
    ),
}


def _place_problem(place: str) -> str:
    from steelyard.snapshots.store import SnapshotStore

    try:
        SnapshotStore.from_place(place)
    except UsageError as error:
        return f"{error.message}; {error.hint}"
    return ""
