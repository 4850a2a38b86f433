"""`use: netbench` under `services`: servers for the workload netbench."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace

from pydantic import Field

from steelyard.plugin import NETBENCH, Command, Size
from steelyard.plugin.host import Host
from steelyard.services.kit.address import resolve_address
from steelyard.services.kit.data import DataDirectory, make_data
from steelyard.services.kit.per_copy import PerCopy, PerCopyOptions
from steelyard.services.kit.ports import list_listening_ports
from steelyard.services.kit.private_files import write_private
from steelyard.services.kit.server import Server

_SERVER = replace(NETBENCH, program="s2n-netbench-driver-server-tcp")
# What `steelyard install` brings lies in a home, which no other user may enter.
_COPY = replace(_SERVER, program="sh").argv(
    "-c", 'cp "$(command -v "$0")" . && chmod 755 "$0"', _SERVER.program
)
_PLAN = "scenario.json"
_ENDLESS = 2**63  # transactions; a client goes when its time is over


class NetbenchServerOptions(PerCopyOptions):
    """How many servers, and what they answer."""

    request: Size = Field(
        Size(1), ge=1, le=2**24, description="Bytes of a request, the same as the workload's."
    )
    response: Size = Field(
        Size(1), ge=1, le=2**24, description="Bytes of a response, the same as the workload's."
    )
    no_delay: bool = Field(True, description="Send small responses at once (TCP_NODELAY).")


class NetbenchServer(PerCopy[NetbenchServerOptions]):
    """s2n-netbench TCP servers, which answer requests of one size with responses of another.

    They must know both sizes, so give them as for the workload: with `${…}` in both places, the servers are
    redeployed for each pair. They listen on the host's own address, without a password, and use 100 MB of
    memory each. Source: https://github.com/aws/s2n-netbench, the crate s2n-netbench-driver-tcp.
    """

    label = "netbench"
    Options = NetbenchServerOptions
    needs = (NETBENCH,)  # the crate brings both programs
    examples = ({"servers": 2}, {"request": "128B", "response": "8KiB", "no_delay": False})

    async def configure(self) -> None:
        """Find ports and numeric addresses, and write what the servers are to do."""
        await super().configure()
        hosts = self.context.hosts
        numbers = await asyncio.gather(*(resolve_address(host) for host in hosts))
        self.numbers = {host.name: number for host, number in zip(hosts, numbers, strict=True)}
        content = json.dumps(scenario(int(self.options.request), int(self.options.response)))
        await asyncio.gather(
            *(write_private(self, host, self.data[host.name], {_PLAN: content}) for host in hosts),
            *(self.make_runner(host, "program")(Command(_COPY)) for host in hosts),
        )

    async def make_data(self) -> dict[str, DataDirectory]:
        """They must enter the scratch, where their program and its scenario lie."""
        return await make_data(self, self.context.hosts)

    def program(self, host: Host, port: int) -> tuple[str, ...]:
        """Of one server."""
        nagle = () if self.options.no_delay else ("--nagle",)
        program = str(self.scratch(host) / _SERVER.program)
        return (program, "--ip", self.numbers[host.name], "--port", str(port), *nagle, self._plan(host))

    def facts(self) -> Mapping[str, str]:
        """Its protocol, and both sizes."""
        sizes = {"request": str(int(self.options.request)), "response": str(int(self.options.response))}
        return {"protocol": "netbench", **sizes}

    async def is_answering(self, server: Server) -> bool:
        """It answers one request. The first one takes longest: the server fills its memory then."""
        if server.port not in await list_listening_ports(server.host):
            return False
        number = self.numbers[server.host.name]
        to = f"SERVER_0=[{number}]:{server.port}" if ":" in number else f"SERVER_0={number}:{server.port}"
        client = NETBENCH.argv("--trace", "stdio", self._plan(server.host))
        text = await server.host.capture(("env", to, *client))
        return "recv[0]=" in (text or "")

    def _plan(self, host: Host) -> str:
        return str(self.scratch(host) / _PLAN)


def scenario(request: int, response: int) -> dict[str, object]:
    """What the servers do without end, and a client that asks once, in s2n-netbench's own terms."""
    ask = [{"send": {"stream_id": 0, "bytes": request}}, {"receive": {"stream_id": 0, "bytes": response}}]
    answer = [{"receive": {"stream_id": 0, "bytes": request}}, {"send": {"stream_id": 0, "bytes": response}}]
    connect = {"server_id": 0, "server_connection_id": 0, "client_connection_id": 0}
    endless = {"iterate": {"value": {"count": {"amount": _ENDLESS}}, "operations": answer}}
    opened = {"open_bidirectional_stream": {"stream_id": 0}}
    keys = {"private_key": 0, "certificate": 0, "certificate_authority": 0}  # of TLS, which TCP has not
    return {
        "id": "request-response",
        "clients": [{"scenario": [{"connect": connect}], "connections": [{"ops": [opened, *ask]}]}],
        "servers": [{"connections": [{"peer_streams": [[endless]]}], **keys}],
    }
