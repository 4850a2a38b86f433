"""`use: iperf3` under `services`: servers for the workload iperf3."""

from __future__ import annotations

import json
from collections.abc import Mapping

from steelyard.plugin import Tool
from steelyard.plugin.host import Host
from steelyard.services.kit.per_copy import PerCopy, PerCopyOptions
from steelyard.services.kit.ports import list_listening_ports
from steelyard.services.kit.server import Server

_ASK = ("sh", "-c", 'iperf3 "$@" || :', "sh")  # it fails where the server is busy, and says so
_SILENCE = '{"error": "nothing was said"}'


class Iperf3Server(PerCopy[PerCopyOptions]):
    """iperf3 servers, one per copy of the workload, because each serves one client at a time.

    They listen on the host's own address, without a password. iperf3 moves only what clients send, and the
    servers end with the run. Source: https://github.com/esnet/iperf.
    """

    label = "iperf3"
    Options = PerCopyOptions
    needs = (Tool("iperf3", apt="iperf3", dnf="iperf3", at_least="3.7"),)
    examples = ({"servers": 2},)

    def program(self, host: Host, port: int) -> tuple[str, ...]:
        """Of one server."""
        return ("iperf3", "--server", "--bind", host.address, "--port", str(port), "--forceflush")

    def facts(self) -> Mapping[str, str]:
        """Its protocol."""
        return {"protocol": "iperf3"}

    async def is_answering(self, server: Server) -> bool:
        """A block of one byte gets through, or others are being served: it serves one client at a time.

        Asked only when the port is open, to keep the log short.
        """
        if server.port not in await list_listening_ports(server.host):
            return False
        to = ("--client", server.address, "--port", str(server.port), "--blockcount", "1", "--length", "1")
        text = await server.host.capture((*_ASK, "--json", *to))
        error: str = json.loads(text or _SILENCE).get("error", "")
        return not error or "busy" in error
