"""The protocols that a benchmark's client speaks, as the services declare that speak them, too."""

from __future__ import annotations

from steelyard.model.protocol import ClientBinding, WireProtocol
from steelyard.plugins import read_declarations


def list_services(tool: str) -> dict[str, WireProtocol]:
    """The protocols of the services that a tool has a binding for, by the names of the services."""
    declarations = read_declarations("services", "speaks", WireProtocol)
    return {name: spoken for name, spoken in declarations.items() if spoken.find_binding(tool)}


def list_protocols(tool: str) -> dict[str, tuple[WireProtocol, ClientBinding]]:
    """The same protocols, each once, by their own names, with the tool's binding."""
    spoken = sorted(list_services(tool).values(), key=lambda protocol: protocol.name)
    pairs = ((protocol, protocol.find_binding(tool)) for protocol in spoken)
    return {protocol.name: (protocol, binding) for protocol, binding in pairs if binding}
