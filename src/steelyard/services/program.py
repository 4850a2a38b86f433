"""`use: program` under `services`: a server of the user's own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from steelyard.errors import HostError
from steelyard.model import reference
from steelyard.model.command import Endpoint
from steelyard.model.program import find_mentions
from steelyard.model.tool import Tool
from steelyard.remote.base import Host
from steelyard.remote.short_programs import explain_missing_file
from steelyard.services._access import Listener
from steelyard.services._disturbable import Disturbable
from steelyard.services._ports import choose_ports, is_bound_everywhere, list_listening_ports
from steelyard.services._program_options import ProgramOptions, ReadyOptions
from steelyard.services._server import Server

_LOOKED_AT = 1 << 20  # bytes at the beginning of a log in which a line is looked for
_ANSWER_WITHIN = 5.0  # seconds
# bash speaks TCP without any further program.
_GET = r"""
exec 3<>"/dev/tcp/$1/$2" &&
    printf 'GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$3" "$4" >&3 && head -n 1 <&3
"""
_IGNORED = ("SIGINT", "SIGQUIT")  # by what a shell, the agent of a far host, starts in the background
_IN = 'cd "$1" && shift && exec env "$@"'
_PYTHON = """
import os, socketserver
class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile: self.wfile.write(line)
class Server(socketserver.ThreadingTCPServer): allow_reuse_address = True
print("serves", flush=True)
Server((os.environ["STEELYARD_SELF_ADDRESS"], int(os.environ["STEELYARD_SELF_PORT"])), Echo).serve_forever()
"""


class ProgramService(Disturbable[ProgramOptions]):
    """Any server of yours, one on each host: `run: [python3, server.py, "${port}"]`.

    A file in `run` that lies beside the experiment file is found there; all else is relative to the service's
    scratch, an empty directory in which it runs (`cwd` names another). `${self.port}`, short `${port}`, is a
    free port unless `port` names one, `${self.address}` the address of its host, to which it should be bound.
    Both stand in its environment, too, with the cores that are its own and what there is to know of other
    services and roles: STEELYARD_SELF_PORT, _ADDRESS, STEELYARD_CORES, SCRATCH, STEELYARD_KV_PORT.

    It is ready when something listens on its port, or by `ready`. It is ended by SIGTERM, or by `stop`; what
    does not end in time is killed, with a warning. Its output is kept in the record.

    **Who may use it**: what it asks for, only you know. Say it (`authentication: a token`), or it counts as
    open to whoever reaches it. It runs as you, as any command of yours: also where root runs Steelyard.
    """

    options = ProgramOptions
    needs = (Tool("bash", "bash", "bash"),)
    access = (Listener("what it serves", asks="", bound="chosen", encrypted="if it does so"),)
    unless = ", or say with `authentication:` what it asks its clients for"
    verbatim: ClassVar[frozenset[str]] = frozenset({"script"})
    words: ClassVar[frozenset[str]] = frozenset({"run", "ready.command"})
    examples = (
        {"run": ["python3", "-c", _PYTHON]},
        {
            "script": 'echo "on ${self.port}"\nexec python3 -c "$SERVER"',
            "env": {"SERVER": _PYTHON},
            "ready": {"line": "^serves"},
        },
        {
            "run": ["python3", "-m", "http.server", "--bind", "${self.address}", "${port}"],
            "ready": {"url": "/"},
            "stop": {"signal": "SIGINT", "within": "5s"},
        },
    )

    @classmethod
    def own_names(cls, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Its address, its port, and the ports that have names."""
        ports = options.get("ports")
        names = ports if isinstance(ports, list | tuple) else ()
        return ("address", "port", *(f"{name}_port" for name in names))

    def listeners(self) -> tuple[Listener, ...]:
        """With what the file says of it."""
        (one,) = self.access
        return (Listener(one.what, self.chosen.authentication or "", one.bound, one.encrypted),)

    @property
    def patience(self) -> float:
        """As `ready` says."""
        return float(self.chosen.ready.within or self.context.within)

    async def configure(self) -> None:
        """Find ports, and fill them in."""
        hosts = self.context.hosts
        self.ports = await choose_ports(hosts, self.chosen.port, 1 + len(self.chosen.ports))
        self.wide = False
        bind = self.context.bind or (lambda _: self.chosen)
        self.filled: dict[str, ProgramOptions] = {
            host.name: bind({**self._short(host), **self._own(host)}) for host in hosts
        }

    async def start(self) -> None:
        """All at once."""
        await asyncio.gather(*map(self._start, self.context.hosts))

    async def ready(self) -> None:
        """All are; then it shows on which addresses they listen."""
        await super().ready()
        self.wide = any([await is_bound_everywhere(host, self.ports[0]) for host in self.context.hosts])

    async def answers(self, server: Server) -> bool:
        """As `ready` says, and as long as it runs."""
        how = self.filled[server.host.name].ready
        if server.exit is not None:
            return False
        if how.line is not None:
            return any(_has_line(path, how.line) for path in (server.streams.stdout, server.streams.stderr))
        if how.command is not None:
            return await self._asked(server, how.command) is not None
        if server.port not in await list_listening_ports(server.host):
            return False
        return how.url is None or await self._gets(server, how.url)

    def awaited(self, server: Server) -> str:
        """What `answers` did not see."""
        return _describe_wait(
            self.filled[server.host.name].ready, reference.join_host_port(server.address, server.port)
        )

    async def stop(self) -> None:
        """By the signal of the file."""
        how = self.chosen.stop
        for server in self.servers:
            server.signal, server.grace = how.signal.removeprefix("SIG"), float(how.within)
        await super().stop()
        self.complaints += [
            f"service {self.context.name}: {server.label} on {server.host.name} did not end within "
            f"{how.within:g} s of {how.signal}, and was killed"
            for server in self.servers
            if server.forced
        ]

    def endpoint(self) -> Endpoint:
        """The first server; further ports are facts."""
        named = {
            f"{name}_port": str(port) for name, port in zip(self.chosen.ports, self.ports[1:], strict=True)
        }
        facts = {"protocol": "program", "servers": self.all_servers(), **named}
        wide = {"bound": "every address of its host"} if self.wide else {}
        return Endpoint(self.context.hosts[0].address, self.ports[0], {**facts, **wide})

    async def _start(self, host: Host) -> None:
        open_, secrets = reference.credentials(self.context.named)
        env = {**self._environment(host), **open_}
        chosen = self.filled[host.name]
        # Cells that differ in other parameters share it.
        levels = find_mentions(chosen.script or "", self.context.levels)
        command = replace(chosen.command({**self._short(host), **levels}, env), secrets=secrets)
        if self.chosen.stop.signal in _IGNORED and not host.shares_files:
            command = command.wrapped("env", "--default-signal=INT,QUIT")
        if missing := await explain_missing_file(host, command, self.context.known.get(reference.FOLDER)):
            raise HostError(f"service {self.context.name}: {missing}")
        await self.launch(host, "program", command, address=host.address, port=self.ports[0])

    def _own(self, host: Host) -> dict[str, Any]:
        """What `${self.…}` may name."""
        names = ("port", *(f"{name}_port" for name in self.chosen.ports))
        own = {"address": host.address, **dict(zip(names, self.ports, strict=True))}
        return {f"{reference.SELF}.{name}": value for name, value in own.items()}

    def _short(self, host: Host) -> dict[str, Any]:
        """The same without `self`, unless a parameter is called so."""
        own = {name.partition(".")[2]: value for name, value in self._own(host).items()}
        return {name: value for name, value in own.items() if name not in self.context.levels}

    def _environment(self, host: Host) -> dict[str, str]:
        own = self._own(host)
        more = {"STEELYARD_CORES": str(self.share(host).cores), "SCRATCH": str(self.scratch(host))}
        return {**reference.variables({**self.context.known, **own}), **more}

    async def _gets(self, server: Server, path: str) -> bool:
        where = (
            server.address,
            str(server.port),
            path,
            reference.join_host_port(server.address, server.port),
        )
        said = await server.host.capture(("bash", "-c", _GET, "bash", *where), seconds=_ANSWER_WITHIN)
        return re.match(r"HTTP/\S+ [23]\d\d\b", said or "") is not None

    async def _asked(self, server: Server, words: tuple[str, ...]) -> str | None:
        variables = (f"{name}={value}" for name, value in server.command.env.items())
        argv = ("sh", "-c", _IN, "sh", str(self.scratch(server.host)), *variables, *words)
        return await server.host.capture(argv, seconds=_ANSWER_WITHIN)


def _has_line(log: Path, pattern: str) -> bool:
    """Whether a line of a log holds a pattern."""
    try:
        with log.open("rb") as file:
            text = file.read(_LOOKED_AT).decode(errors="replace")
    except OSError:
        return False
    return re.search(pattern, text, re.MULTILINE) is not None


def _describe_wait(how: ReadyOptions, where: str) -> str:
    if how.line is not None:
        return f"a line of its output that holds {how.line!r}"
    if how.command is not None:
        return f"`{' '.join(how.command)}` to end with code 0"
    if how.url is not None:
        return f"http://{where}{how.url} to answer with 2xx or 3xx"
    return f"something to listen at {where}"
