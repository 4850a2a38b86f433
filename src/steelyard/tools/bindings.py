"""The protocols that a benchmark's client speaks, as services declare them: no list of ours names any."""

from __future__ import annotations

from pathlib import Path

from steelyard.model.protocol import ClientBinding, WireProtocol
from steelyard.plugins import read_declarations


def list_protocols(tool: str) -> dict[str, tuple[WireProtocol, ClientBinding]]:
    """The protocols for which a tool has a binding, with that, by name and in the order of names."""
    pairs = ((spoken, spoken.find_binding(tool)) for spoken in _list_spoken().values())
    known = {spoken.name: (spoken, binding) for spoken, binding in pairs if binding}
    return dict(sorted(known.items()))


def list_services(tool: str) -> frozenset[str]:
    """The services that speak one of these protocols."""
    known = list_protocols(tool)
    return frozenset(name for name, spoken in _list_spoken().items() if spoken.name in known)


def list_folders(tool: str) -> tuple[Path, ...]:
    """Where the sources of all bindings of a tool lie, in the order of the protocols."""
    return tuple(Path(binding.folder) for _, binding in list_protocols(tool).values())


def _list_spoken() -> dict[str, WireProtocol]:
    return read_declarations("services", "speaks", WireProtocol)
