"""The tools behind a name: of a tool itself, a workload, a service, a collector, or an experiment file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from steelyard.errors import UnknownName
from steelyard.model.keys.wrap import TOOLS
from steelyard.model.space import cells
from steelyard.model.tool import DARSHAN, Tool
from steelyard.plugins import names
from steelyard.spec.bind import collector_class, list_tools, service_class, workload_class
from steelyard.spec.conditions import environment_class
from steelyard.spec.load import load

_BESIDE = (*TOOLS, DARSHAN)
_HINT = "give a name from `steelyard catalog`, or an experiment file such as examples/hello.yaml"


def all_tools() -> list[Tool]:
    """What anything in the catalogue needs, each once."""
    return _drop_repeats(tool for _, needs in _entries() for tool in needs)


def installable_names() -> list[str]:
    """The tools, those of `wrap` and of traces among them, and all entries that need some."""
    return sorted({*(tool.name for tool in (*all_tools(), *_BESIDE)), *(entry for entry, _ in _entries())})


def find_tools(name: str) -> list[Tool]:
    """What a name stands for; a tool may be called like the entry that needs it.

    Raises UnknownName, and SpecError for a file that is not sound.
    """
    if name.endswith((".yaml", ".yml")) or Path(name).is_file():
        experiment, _ = load(Path(name))
        return _drop_repeats(
            tool for cell in cells(experiment, seed=1) for tool in list_tools(experiment, [cell])
        )
    entries = [needs for entry, needs in _entries() if entry == name]
    tools = [tool for tool in (*all_tools(), *_BESIDE) if tool.name == name]
    if not entries and not tools:
        raise UnknownName("tool, workload or service", name, installable_names(), hint=_HINT)
    return _drop_repeats([*tools, *(tool for needs in entries for tool in needs)])


def _entries() -> list[tuple[str, tuple[Tool, ...]]]:
    workloads = ((name, workload_class(name).needs) for name in sorted(names("workloads")))
    services = ((name, service_class(name).needs) for name in sorted(names("services")))
    collectors = ((name, collector_class(name).needs) for name in sorted(names("collectors")))
    environments = ((name, environment_class(name).needs) for name in sorted(names("environments")))
    return [*workloads, *services, *collectors, *environments]


def _drop_repeats(tools: Iterable[Tool]) -> list[Tool]:
    return list(dict.fromkeys(tools))
