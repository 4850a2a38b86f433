"""What a service speaks, as it declares it: read by whatever is a client of it, which knows no service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientBinding:
    """How the client of a benchmark speaks a protocol.

    `tool` is the name of that client's `Tool`, `name` what the client calls the binding: for YCSB, the Java
    class. `folder` is the absolute path of its sources, which are built into the tool where that is installed
    (`steelyard.tools.maven`). `can_scan`: whether it reads ranges of records.
    """

    tool: str
    name: str
    folder: str
    can_scan: bool = True


@dataclass(frozen=True, slots=True)
class WireProtocol:
    """A protocol by its name, with the port on which servers usually listen, and who is a client of it."""

    name: str
    port: int
    bindings: tuple[ClientBinding, ...] = ()

    def find_binding(self, tool: str) -> ClientBinding | None:
        """That of a tool, if it has one."""
        return next((binding for binding in self.bindings if binding.tool == tool), None)
