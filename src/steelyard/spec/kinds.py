"""The kinds of plug-ins: the one list of them, and the class of an entry by its kind and name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from steelyard.plugins import names
from steelyard.spec.bind import collector_class, event_class, service_class, workload_class
from steelyard.spec.conditions import environment_class
from steelyard.spec.sites import site_class


class Kind(NamedTuple):
    """A kind: the folder of its entries, the word for one of them, the key that names one in a file."""

    folder: str
    word: str
    key: str
    class_of: Callable[[str], type[Any]]


KINDS: Mapping[str, Kind] = {
    kind.folder: kind
    for kind in (
        Kind("workloads", "workload", "use", workload_class),
        Kind("services", "service", "use", service_class),
        Kind("events", "event", "do", event_class),
        Kind("collectors", "collector", "use", collector_class),
        Kind("sites", "site", "use", site_class),
        Kind("environments", "environment", "in", environment_class),
    )
}


def entries(name: str | None = None) -> Iterator[tuple[Kind, str]]:
    """Every entry there is, or those of one name, by kind; nothing is imported for it."""
    for kind in KINDS.values():
        yield from ((kind, each) for each in sorted(names(kind.folder)) if name in (None, each))


def entry_names() -> list[str]:
    """Every name that some entry has, in order."""
    return sorted({name for _, name in entries()})
