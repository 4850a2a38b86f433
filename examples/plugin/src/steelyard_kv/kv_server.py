"""`use: kv_server` under `services`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic import Field

from steelyard.plugin import Command, Endpoint, Tool
from steelyard.plugin.host import Host
from steelyard.plugin.service import Disturbable, Listener, Server, Service, ServiceOptions, choose_ports

PROGRAM = Path(__file__).parent / "programs" / "kv_server.py"
PING = "import socket, sys; s = socket.create_connection(sys.argv[1:]); s.send(b'PING\\n'); print(s.recv(9))"
PYTHON = ("python3", "-I", "-S")


class KvOptions(ServiceOptions):
    """Where it listens."""

    port: int | None = Field(
        None, ge=1, le=65535, description="Port, the same on all hosts; default: a free one"
    )


class KvServer(Disturbable, Service[KvOptions]):
    """A key-value server on each host, in memory; each has data of its own.

    **Who may use it**: who has the run's password. The connection is not encrypted. Source: this package.
    """

    Options = KvOptions
    needs = (Tool("python3", apt="python3", dnf="python3"),)
    access = (Listener("clients", authentication="password"),)
    examples = ({},)

    async def configure(self) -> None:
        """Choose a port that is free on all hosts."""
        (self.port,) = await choose_ports(self.context.hosts, self.options.port, 1, self.context.claims)

    async def start(self) -> None:
        """All servers at once."""
        await asyncio.gather(*map(self.start_on, self.context.hosts))

    async def start_on(self, host: Host) -> None:
        """One server. Its password is a secret: it is on no command line and in no record."""
        argv = (*PYTHON, "-c", PROGRAM.read_text(), host.address, str(self.port))
        command = Command(argv, secrets={"KV_PASSWORD": self.context.password})
        await self.launch(host, "kv", command, address=host.address, port=self.port)

    async def is_answering(self, server: Server) -> bool:
        """It says PONG."""
        said = await server.host.capture((*PYTHON, "-c", PING, server.address, str(server.port)))
        return "PONG" in (said or "")

    def endpoint(self) -> Endpoint:
        """The first server; the fact `servers` lists all."""
        facts = {"protocol": "kv", "servers": self.list_servers()}
        return Endpoint(self.context.hosts[0].address, self.port, facts, self.context.password)
