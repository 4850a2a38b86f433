"""`use: program` under `services`: a server of the user's own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from steelyard.plugin import Command, Endpoint, HostError, Tool, UsageError
from steelyard.plugin.host import Host, explain_missing_file
from steelyard.plugin.service import (
    FOLDER,
    SELF,
    Service,
    credentials,
    find_mentions,
    join_host_port,
    variables,
)
from steelyard.services.kit.access import Listener
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.ports import choose_ports, is_bound_everywhere, list_listening_ports
from steelyard.services.kit.server import Server
from steelyard.services.program.checkpointing import make_save_command, make_size_command
from steelyard.services.program.options import CheckpointHooks, ProgramOptions, ReadyOptions

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


class ProgramService(Disturbable, Service[ProgramOptions]):
    """Any server of your own, one per host: `run: [python3, server.py, "${port}"]`.

    A file in `run` next to the experiment file is found there; other paths are relative to the service's
    scratch, an empty directory in which it runs (`cwd` sets another). `${self.port}`, short `${port}`, is a
    free port unless `port` sets one; `${self.address}` is the address of its host, to which it should bind.
    Both are also environment variables, as are its cores and the facts of other services and roles:
    STEELYARD_SELF_PORT, _ADDRESS, STEELYARD_CORES, SCRATCH, STEELYARD_KV_PORT.

    It is ready when something listens on its port, or as `ready` defines. It is ended by SIGTERM, or as
    `stop` defines; if it does not end in time, it is killed, with a warning. Its output is saved in the
    record. With `checkpoint`, the events of that name and `restore` have it save its state and go on from it.

    **Who may use it**: only you know what it requires of clients. Declare it (`authentication: a token`), or
    it counts as open to anyone who can reach it. It runs as the user who runs Steelyard, even if that is
    root.
    """

    Options = ProgramOptions
    needs = (Tool("bash", "bash", "bash"),)
    access = (Listener("its service port", authentication="", binding="chosen", encrypted="if it does so"),)
    open_hint = ", or declare with `authentication:` what clients must present"
    verbatim: ClassVar[frozenset[str]] = frozenset({"script"})
    words: ClassVar[frozenset[str]] = frozenset(
        {"run", "ready.command", "checkpoint.command", "checkpoint.restore"}
    )
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
    def self_names(cls, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Its address, its port, and the ports that have names."""
        ports = options.get("ports")
        names = ports if isinstance(ports, list | tuple) else ()
        return ("address", "port", *(f"{name}_port" for name in names))

    def listeners(self) -> tuple[Listener, ...]:
        """With what the file says of it."""
        (one,) = self.access
        return (Listener(one.purpose, self.options.authentication or "", one.binding, one.encrypted),)

    @property
    def ready_timeout(self) -> float:
        """As `ready` says."""
        return float(self.options.ready.within or self.context.ready_timeout)

    async def configure(self) -> None:
        """Find ports, and fill them in."""
        hosts = self.context.hosts
        self.ports = await choose_ports(
            hosts, self.options.port, 1 + len(self.options.ports), self.context.claims
        )
        self.wide = False
        bind = self.context.bind or (lambda _: self.options)
        self.host_options: dict[str, ProgramOptions] = {
            host.name: bind({**self._short_values(host), **self._self_values(host)}) for host in hosts
        }

    async def start(self) -> None:
        """All at once."""
        await asyncio.gather(*map(self._start, self.context.hosts))

    async def ready(self) -> None:
        """All are; then it shows on which addresses they listen."""
        await super().ready()
        self.wide = any([await is_bound_everywhere(host, self.ports[0]) for host in self.context.hosts])

    async def is_answering(self, server: Server) -> bool:
        """As `ready` says, and as long as it runs."""
        how = self.host_options[server.host.name].ready
        if server.exit is not None:
            return False
        if how.line is not None:
            return any(_has_line(path, how.line) for path in (server.streams.stdout, server.streams.stderr))
        if how.command is not None:
            return await self._run_ready_command(server, how.command) is not None
        if server.port not in await list_listening_ports(server.host):
            return False
        return how.url is None or await self._is_url_ok(server, how.url)

    def describe_wait(self, server: Server) -> str:
        """What `is_answering` did not see."""
        return _describe_wait(
            self.host_options[server.host.name].ready, join_host_port(server.address, server.port)
        )

    async def stop(self) -> None:
        """By the signal of the file."""
        how = self.options.stop
        for server in self.servers:
            server.signal, server.grace = how.signal.removeprefix("SIG"), float(how.within)
        await super().stop()
        self.complaints += [
            f"service {self.context.name}: {server.label} on {server.host.name} did not end within "
            f"{how.within:g} s of {how.signal} and was killed"
            for server in self.servers
            if server.is_force_killed
        ]

    def endpoint(self) -> Endpoint:
        """The first server; further ports are facts."""
        named = {
            f"{name}_port": str(port) for name, port in zip(self.options.ports, self.ports[1:], strict=True)
        }
        facts = {"protocol": "program", "servers": self.list_servers(), **named}
        wide = {"bound": "every address of its host"} if self.wide else {}
        return Endpoint(self.context.hosts[0].address, self.ports[0], {**facts, **wide})

    @classmethod
    def is_checkpointable(cls, options: Mapping[str, Any]) -> bool:
        """With `checkpoint` it is."""
        return options.get("checkpoint") is not None

    def check_checkpointable(self) -> None:
        """The same, said to the user."""
        _ = self._hooks

    async def checkpoint(self) -> int:
        """All at once."""
        return sum(await asyncio.gather(*(self._save_server(server) for server in self.servers)))

    async def restore(self) -> int:
        """All at once, when every state file is there."""
        file = self._hooks.state_file
        runs = [self.make_runner(server.host, "restore") for server in self.servers]
        sizes = [int(await run(make_size_command(file))) for run in runs]
        await asyncio.gather(*(server.kill() for server in self.servers))
        await asyncio.gather(*(self._restore_server(server) for server in tuple(self.servers)))
        return sum(sizes)

    def state_files(self) -> list[tuple[Host, PurePosixPath]]:
        """One on each host."""
        hosts = self.context.hosts
        return [(host, self.scratch(host) / self._hooks_on(host).state_file) for host in hosts]

    async def restart_ended(self) -> None:
        """On all hosts."""
        await asyncio.gather(*(self.restart(host.name) for host in self.context.hosts))

    @property
    def _hooks(self) -> CheckpointHooks:
        if self.options.checkpoint is None:
            raise UsageError(
                f"service {self.context.name} cannot be checkpointed: give it `checkpoint:` with "
                "`signal` or `command`, `state_file` and `restore`"
            )
        return self.options.checkpoint

    def _hooks_on(self, host: Host) -> CheckpointHooks:
        """With what only its host knows filled in."""
        return self.host_options[host.name].checkpoint or self._hooks

    async def _save_server(self, server: Server) -> int:
        hooks = self._hooks_on(server.host)
        command = make_save_command(
            hooks.state_file, server.process.pid, hooks.signal or "", hooks.command or ()
        )
        run = self.make_runner(server.host, "checkpoint", float(hooks.within))
        return int(await run(replace(command, env=dict(server.command.env))))

    async def _restore_server(self, server: Server) -> None:
        restore = {"run": self._hooks_on(server.host).restore, "script": None}
        options = self.host_options[server.host.name].model_copy(update=restore)
        await self.restart_server(server, self._make_command(server.host, options))

    async def _start(self, host: Host) -> None:
        command = self._make_command(host, self.host_options[host.name])
        if missing := await explain_missing_file(host, command, self.context.known.get(FOLDER)):
            raise HostError(f"service {self.context.name}: {missing}")
        await self.launch(host, "program", command, address=host.address, port=self.ports[0])

    def _make_command(self, host: Host, options: ProgramOptions) -> Command:
        open_, secrets = credentials(self.context.named_endpoints)
        env = {**self._environment(host), **open_}
        # Cells that differ in other parameters share it.
        levels = find_mentions(options.script or "", self.context.levels)
        command = replace(options.command({**self._short_values(host), **levels}, env), secrets=secrets)
        if self.options.stop.signal in _IGNORED and not host.shares_files:
            command = command.wrap("env", "--default-signal=INT,QUIT")
        return command

    def _self_values(self, host: Host) -> dict[str, Any]:
        """What `${self.…}` may name."""
        names = ("port", *(f"{name}_port" for name in self.options.ports))
        own = {"address": host.address, **dict(zip(names, self.ports, strict=True))}
        return {f"{SELF}.{name}": value for name, value in own.items()}

    def _short_values(self, host: Host) -> dict[str, Any]:
        """The same without `self`, unless a parameter is called so."""
        own = {name.partition(".")[2]: value for name, value in self._self_values(host).items()}
        return {name: value for name, value in own.items() if name not in self.context.levels}

    def _environment(self, host: Host) -> dict[str, str]:
        own = self._self_values(host)
        more = {"STEELYARD_CORES": str(self.share(host).cores), "SCRATCH": str(self.scratch(host))}
        return {**variables({**self.context.known, **own}), **more}

    async def _is_url_ok(self, server: Server, path: str) -> bool:
        where = (
            server.address,
            str(server.port),
            path,
            join_host_port(server.address, server.port),
        )
        said = await server.host.capture(("bash", "-c", _GET, "bash", *where), seconds=_ANSWER_WITHIN)
        return re.match(r"HTTP/\S+ [23]\d\d\b", said or "") is not None

    async def _run_ready_command(self, server: Server, words: tuple[str, ...]) -> str | None:
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
        return f"a line of its output that matches {how.line!r}"
    if how.command is not None:
        return f"`{' '.join(how.command)}` to exit with code 0"
    if how.url is not None:
        return f"http://{where}{how.url} to answer with 2xx or 3xx"
    return f"something to listen on {where}"
