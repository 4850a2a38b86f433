"""`use: sockperf` under `services`: servers for the workload sockperf."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from steelyard.plugin import Tool
from steelyard.plugin.host import Host
from steelyard.services.kit.per_copy import PerCopy, PerCopyOptions
from steelyard.services.kit.ports import list_listening_ports
from steelyard.services.kit.server import Server


class SockperfServerOptions(PerCopyOptions):
    """How many servers, and of which protocol."""

    protocol: str = Field(
        "tcp", pattern=r"^(tcp|udp)$", description="tcp or udp, the same as the workload's."
    )


class SockperfServer(PerCopy[SockperfServerOptions]):
    """sockperf servers, which answer each message with one of the same length.

    They listen on the host's own address, without a password. Source: https://github.com/Mellanox/sockperf.
    """

    label = "sockperf"
    Options = SockperfServerOptions
    needs = (Tool("sockperf", apt="sockperf", dnf="sockperf", at_least="3.6"),)
    examples = ({"servers": 2}, {"protocol": "udp"})

    def program(self, host: Host, port: int) -> tuple[str, ...]:
        """Of one server."""
        tcp = ("--tcp",) if self.options.protocol == "tcp" else ()
        return ("sockperf", "server", "--ip", host.address, "--port", str(port), *tcp)

    def facts(self) -> Mapping[str, str]:
        """Its protocol."""
        return {"protocol": self.options.protocol}

    async def is_answering(self, server: Server) -> bool:
        """Its port is open: sockperf opens it last, and its client cannot ask in less than three seconds."""
        return server.port in await list_listening_ports(server.host)
