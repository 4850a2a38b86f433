"""What the nodes of a ring say of it: a program that asks them all, and what it has found.

Each `nodetool` is a Java start of a second; waiting for three nodes would take dozens. CQL tells a node's
peers, but not whether it takes them to be alive; only management (JMX) does, which nothing but Java speaks.
So one small Java process a ring asks every node, over connections that stay open, and writes what it hears
to a file, which costs little to read. The ring's members are told to it by a file, too. It runs on the first
host, because hosts need not be reachable from here, nor have Python.
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.plugin import Command, HostError
from steelyard.plugin.host import Host, run_short_program
from steelyard.services.cassandra.config import CassandraPorts
from steelyard.services.cassandra.home import CassandraHome
from steelyard.services.kit.certificates import Authority
from steelyard.services.kit.meters import add_figures
from steelyard.services.kit.server import Server

_FRESH = 0.05  # seconds for which what was read holds
_HURRY_MS, _CALM_MS = 100, 1000  # between two looks at each node: while somebody waits, and otherwise
_FLAGS = (
    "-Xmx48m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+PerfDisableSharedMem -XX:ActiveProcessorCount=1 "
    "-Dsun.rmi.transport.connectionTimeout=60000 -Djava.net.preferIPv4Stack=true"
)
_ANSWERS = (
    "-Dsun.rmi.transport.tcp.responseTimeout=5000"  # a node that is frozen does not hold it up for ever
)
_KEEP = """
umask 077; printf '%s' "$SECRETS" > secrets; printf '%s' "$RING" > ring
printf '%s' "$IDENTITY" > identity.pem; printf '%s' "$AUTHORITY" > authority.pem
"""
_DEFINE = "umask 077; cat > definitions"
_TELL = 'printf "%s" "$2" > "$1/ring.new" && mv "$1/ring.new" "$1/ring" && echo told'


@dataclass(frozen=True, slots=True)
class RingStatus:
    """What the watch found last. `nodes`: what each says, by address; one that does not answer lacks."""

    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def is_node_ready(self, address: str, others: Iterable[str], generation: int) -> bool:
        """Whether a node is up, lets clients in, and takes the others to be up and none to come or go.

        And all who answer know the same tables, or a client's first write might fail.
        """
        node = self.nodes.get(address)
        if not (node and node["open"] and node["generation"] == generation):
            return False
        moves = any(node[view] for view in ("joining", "leaving", "moving"))
        schemas = {self.nodes[other]["schema"] for other in others if other in self.nodes}
        known = set(node["live"]) & set(node["owners"])  # of one that is up, but nowhere, nobody keeps a row
        return not moves and schemas <= {node["schema"]} and set(others) <= known

    def sum_meters(self) -> dict[str, float]:
        """Sums over the nodes that answer; `live_nodes` counts those that are part of the ring."""
        live_nodes = float(sum(node["mode"] == "NORMAL" for node in self.nodes.values()))
        return {"live_nodes": live_nodes, **add_figures(node["meters"] for node in self.nodes.values())}


@dataclass(frozen=True, slots=True)
class RingPasswords:
    """Passwords of a ring: of the role of clients, and of management."""

    client: str = field(repr=False)
    jmx: str = field(repr=False)

    @classmethod
    def from_client_password(cls, client: str) -> RingPasswords:
        """With the run's password for clients."""
        return cls(client, secrets.token_hex(24))

    def properties(self) -> str:
        """A file of Java."""
        return f"client={self.client}\njmx={self.jmx}\n"


class RingWatch:
    """Watches a ring from one of its hosts, in a directory of its own there."""

    def __init__(
        self, host: Host, directory: PurePosixPath, logs: Path, home: CassandraHome, ports: CassandraPorts
    ) -> None:
        self._host, self._directory, self._logs = host, directory, logs
        self._home, self._ports = home, ports
        self._server: Server | None = None
        self._addresses: tuple[str, ...] = ()
        self._generation = 0
        self._hurry = True
        self._read: tuple[float, RingStatus] = (-1.0, RingStatus())
        self._lock = asyncio.Lock()

    async def configure(
        self,
        passwords: RingPasswords,
        authority: Authority,
        schema: Mapping[str, str],
        addresses: Iterable[str],
    ) -> None:
        """Write the passwords, who it is for the nodes, which keyspaces are to be there, and which nodes."""
        self._schema, self._addresses = schema, tuple(addresses)
        await self._host.make_directory(self._directory)
        env = {"RING": self._settings(), "AUTHORITY": authority.certificate}
        kept = {"SECRETS": passwords.properties(), "IDENTITY": authority.issue_identity().pem}
        await self._run(Command(("sh", "-eu", "-c", _KEEP), env, secrets=kept), "secrets")

    async def expect(self, addresses: Iterable[str]) -> None:
        """The ring has these nodes from now on; what was found before holds no more."""
        self._addresses, self._hurry = tuple(addresses), True
        self._generation += 1
        await self._tell()

    async def slow_down(self) -> None:
        """Nobody waits any more: look less often."""
        self._hurry = False
        await self._tell()

    async def start(self) -> None:
        """Begin to ask."""
        command = Command(
            (*self._java(self._home.classes), _ANSWERS, "steelyard.cassandra.Watch", str(self._directory))
        )
        self._server = await Server.start(
            self._host,
            "ring",
            command,
            cwd=self._directory,
            logs=self._logs,
            address=self._host.address,
            port=0,
        )

    async def stop(self) -> None:
        """End it."""
        if self._server:
            await self._server.kill()

    async def is_node_ready(self, address: str, others: Iterable[str]) -> bool:
        """Whether a node sees all of these, and lets clients in. Raises HostError when the watch is gone."""
        return (await self.read_status()).is_node_ready(address, others, self._generation)

    async def read_status(self) -> RingStatus:
        """What it found last. Raises HostError when it has ended."""
        if self._server is None or self._server.exit is not None:
            words = self._server.describe_log() if self._server else "it was never started"
            raise HostError(f"the ring monitor on {self._host.name} ended; {words}")
        async with self._lock:
            if time.monotonic() - self._read[0] > _FRESH:
                self._read = (time.monotonic(), await self._fetch_status())
        return self._read[1]

    async def operate(self, operation: str, address: str, seconds: float) -> None:
        """Have one node do something, and wait until it has. Raises HostError with the node's reason."""
        await self._ask("Operate", (operation, address), f"{operation}-{address}", seconds)

    async def freeze(self, name: str, targets: Mapping[str, str], seconds: float) -> Mapping[str, Any]:
        """Have all nodes keep their files as at one moment, each in a target, by its address.

        Found: `rows` by address and table, `seconds` by step, `spread`; `definitions`, and `faults`, which
        tell of each why no ring would recover it; `left_out`: what of the schema is code. Raises HostError.
        """
        places = (f"{address}={target}" for address, target in targets.items())
        return _parse_answer(await self._ask("Snapshot", (name, *places), f"snapshot-{name}", seconds))

    async def recover(
        self, definitions: Iterable[str], sources: Mapping[str, str], seconds: float, *, own: bool
    ) -> Mapping[str, Any]:
        """Have the nodes hold what is in the files of their sources, and nothing else; the files are moved.

        `own`: each node's files hold only what is its own. Found: `rows` by address and table, `seconds` by
        step; or only `faults`: the reason for each definition that is refused, and nothing was done. Raises
        HostError.
        """
        lines = (base64.b64encode(text.encode()).decode() + "\n" for text in definitions)
        define = Command(("sh", "-eu", "-c", _DEFINE), stdin="".join(lines))
        await self._run(define, "definitions")
        places = (f"{address}={source}" for address, source in sources.items())
        words = (str(self._directory / "definitions"), "own" if own else "any", *places)
        return _parse_answer(await self._ask("Recover", words, "recover", seconds))

    async def run_mirror_action(self, action: str, words: Iterable[str], seconds: float) -> Mapping[str, Any]:
        """Have a second data centre brought or compared what it lacks; see `mirror`."""
        return _parse_answer(
            await self._ask("Mirror", (action, str(float(seconds)), *words), action, seconds + 60)
        )

    async def _ask(self, program: str, words: tuple[str, ...], label: str, seconds: float) -> str:
        # A node answers some questions with values of classes that come with Cassandra.
        classes = f"{self._home.classes}:{self._home.lib}/*" if program == "Mirror" else self._home.classes
        argv = (*self._java(classes), f"steelyard.cassandra.{program}", str(self._directory), *words)
        return await self._run(Command(argv), label, seconds)

    def _java(self, classes: str) -> tuple[str, ...]:
        return (self._home.java, *_FLAGS.split(), "-cp", classes)

    async def _fetch_status(self) -> RingStatus:
        path = str(self._directory / "state.json")
        text = (await self._host.read([path])).get(path)
        if not text:
            return RingStatus()
        state = json.loads(text)
        return RingStatus(state["nodes"])

    async def _tell(self) -> None:
        if not await self._host.capture(("sh", "-c", _TELL, "sh", str(self._directory), self._settings())):
            raise HostError(f"{self._host.name}: cannot write to {self._directory}")

    def _settings(self) -> str:
        facts = {
            "generation": self._generation,
            "interval": _HURRY_MS if self._hurry else _CALM_MS,
            "addresses": ",".join(self._addresses),
            "jmx_port": self._ports.jmx,
            "native_port": self._ports.native,
            **self._schema,
        }
        return "".join(f"{name}={value}\n" for name, value in facts.items())

    async def _run(self, command: Command, label: str, seconds: float = 60.0) -> str:
        return await run_short_program(
            self._host, command, cwd=self._directory, logs=self._logs, label=label, seconds=seconds
        )


def _parse_answer(text: str) -> Mapping[str, Any]:
    answer: Mapping[str, Any] = json.loads(text)
    return answer
