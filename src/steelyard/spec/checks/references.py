"""What `${…}` may name beside parameters in an experiment, and what is wrong with what it names."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError
from typing import Any

from steelyard.errors import PlugInError, UnknownName, suggest_name
from steelyard.model.experiment import Experiment
from steelyard.model.keys.reference import (
    OF_ROLE,
    OF_SERVICE,
    SELF,
    find_references,
    find_services,
    order_services,
)
from steelyard.model.keys.uses import ServiceUse
from steelyard.model.lifetimes import is_kept_longer
from steelyard.spec.bind import service_class
from steelyard.spec.faults import Fault, Path
from steelyard.spec.service_kinds import variants


class References:
    """What may be named, and by whom."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._facts_by_owner: dict[str, tuple[str, ...]] = dict.fromkeys(experiment.roles, OF_ROLE)
        for name, use in experiment.services.items():
            self._facts_by_owner[name] = tuple(dict.fromkeys((*OF_SERVICE, *self_names(use, experiment))))
        self._facts_by_owner["experiment"] = ("dir",)

    def names(self) -> list[str]:
        """All of them."""
        return [f"{owner}.{what}" for owner, facts in self._facts_by_owner.items() for what in facts]

    def name_faults(self, path: Path, name: str, own: tuple[str, ...] = ()) -> Iterator[Fault]:
        """When nothing is called so. `own` are the names of the service in whose options it stands."""
        owner, _, what = name.partition(".")
        known = {**self._facts_by_owner, **({SELF: own} if own else {})}
        if owner == SELF and not own:
            yield Fault(path, f"'{name}': 'self' exists only in the options of a `use: program` service")
        elif owner not in known:
            hint = suggest_name(owner, known) or f"; there are {', '.join(known)}"
            yield Fault(path, f"'{name}': there is no service or role '{owner}'{hint}")
        elif what not in known[owner]:
            hint = suggest_name(what, known[owner]) or f"; it has {', '.join(known[owner])}"
            yield Fault(path, f"'{name}': '{owner}' has no '{what}'{hint}")

    def script_faults(self, path: Path, text: Any, own: tuple[str, ...] = ()) -> Iterator[Fault]:
        """Of lines of a shell: what looks like a reference, and is none. It may be of another language."""
        faults: list[Fault] = []
        for name in find_references(text) if isinstance(text, str) else ():
            owner, _, what = name.partition(".")
            if (
                owner in (*self._facts_by_owner, SELF)
                or what in OF_SERVICE
                or suggest_name(owner, self._facts_by_owner)
            ):
                faults += self.name_faults(path, name, own)
        if faults:
            yield Fault(path, "; ".join(fault.message for fault in faults))

    def service_faults(self) -> Iterator[Fault]:
        """Services that name each other in a circle, or one that does not live as long."""
        services = self._experiment.services
        for name in (SELF, "experiment"):
            if name in services:
                message = f"'{name}' has another meaning in ${{{name}.…}}; rename the service"
                yield Fault(("services", name), message, at_key=True)
        try:
            order_services(services)
        except CycleError as error:
            circle = error.args[1]
            chain = " -> ".join(reversed(circle))
            yield Fault(
                ("services", circle[0]),
                f"{chain}: each needs the port or address of the next, so none can start first"
                if len(set(circle)) > 1
                else f"'{circle[0]}' refers to itself; write ${{self.port}}",
            )
            return
        for name, use in services.items():
            for other in sorted(find_services(use.options, services)):
                if is_kept_longer(use, services[other]):
                    message = (
                        f"keep: '{name}' refers to '{other}', which lives only for the "
                        f"{services[other].keep}; "
                        f"write 'keep: {services[other].keep}' for '{name}' too"
                    )
                    yield Fault(("services", name), message)


def self_names(use: ServiceUse, experiment: Experiment) -> tuple[str, ...]:
    """What `${self.…}` may name in the options of a service, whichever it is."""
    return tuple(dict.fromkeys(name for one in variants(use, experiment) for name in _self_names(one)))


def _self_names(use: ServiceUse) -> tuple[str, ...]:
    try:
        return service_class(use.plugin).self_names(use.options)
    except (UnknownName, PlugInError):
        return ()  # that has been said of its entry
