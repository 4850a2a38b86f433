"""An agent of this machine, driven through its three pipes as a controller drives it."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import steelyard
from patience import PATIENCE, until
from steelyard.hosts import minder
from steelyard.hosts.agent.agent import AgentTimeouts, agent_script
from steelyard.hosts.minder.processes import (
    find_variable,
    list_pids,
    read_environment,
    read_proc,
    read_process,
)
from steelyard.hosts.scratch_marker import ScratchMarker
from steelyard.hosts.token import Token

PROBE = Path(steelyard.__file__).parent / f"hosts/agent/bin/steelyard-probe-{platform.machine()}"
SHELLS = ("sh", "bash --posix", "busybox ash")
MINDER = "minder"
STREAMS = ("stdin", "stdout", "stderr")


def words(kind: str, token: Token, patience: float) -> list[str]:
    """What starts an agent: agent.sh under a shell, the minder, or the probe at a path."""
    if kind == MINDER:
        return [sys.executable, "-I", "-S", str(Path(minder.__file__).parent), str(token)]
    if kind in SHELLS:
        return [*kind.split(), "-c", agent_script(token, AgentTimeouts(2.0, patience, patience))]
    return [kind, "agent", str(token), "2", str(patience)]


def quoted(word: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_./:,+=@%-]+", word):
        return word
    return "'" + word.replace("'", "'\\''").replace("\n", "'\"$NL\"'") + "'"


class Stream:
    """What comes through a pipe, with an end to patience."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.pipe, self.seen = pipe, b""

    def until(self, enough: Callable[[bytes], int]) -> bytes:
        """Take as many bytes as `enough` says are there, once it does not say 0."""
        deadline = time.monotonic() + PATIENCE
        while not (count := enough(self.seen)):
            ready, _, _ = select.select([self.pipe], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self.pipe.fileno(), 1 << 16) if ready else b""
            if not data:
                raise AssertionError(f"{'closed' if ready else 'silent'} after {self.seen!r}")
            self.seen += data
        taken, self.seen = self.seen[:count], self.seen[count:]
        return taken

    def line(self) -> str:
        return self.until(lambda seen: seen.find(b"\n") + 1).decode().rstrip("\n")

    def take(self, count: int) -> bytes:
        return self.until(lambda seen: count if len(seen) >= count else 0) if count else b""


class Agent:
    """An agent on this machine, and the controller's side of its three streams."""

    def __init__(self, kind: str, *, patience: float = PATIENCE, popen: Any = subprocess.Popen) -> None:
        """`kind` is the shell of agent.sh (`busybox ash`), MINDER, or the path of the probe."""
        self.nowhere = ("-", "/dev/null", "/dev/null") if kind in (*SHELLS, MINDER) else ("-", "-", "-")
        self.run = f"test-{secrets.token_hex(6)}"
        self.token = Token.of(self.run)
        self.mark = str(ScratchMarker.generate(self.run))
        self.process = popen(
            words(kind, self.token, patience),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.stdin = self.process.stdin
        self.replies, self.events = Stream(self.process.stdout), Stream(self.process.stderr)

    def send(self, *words: str) -> None:
        self.stdin.write((" ".join(map(quoted, words)) + "\n").encode())

    def ask(self, *words: str) -> tuple[int, bytes]:
        self.send(*words)
        return self.reply()

    def reply(self) -> tuple[int, bytes]:
        code, length = map(int, self.replies.line().split())
        return code, self.replies.take(length)

    def start(self, name: str, *argv: str, at: str = "-", cwd: str = "/", **others: str) -> None:
        streams = [others.get(each, default) for each, default in zip(STREAMS, self.nowhere, strict=True)]
        assert self.ask("start", name, at, cwd, *streams, "0", *argv) == (0, b"")

    def started(self, name: str, *argv: str, **others: str) -> int:
        self.start(name, *argv, **others)
        event, who, pid = self.event()
        assert (event, who) == ("started", name)
        return int(pid)

    def event(self) -> list[str]:
        return self.events.line().split()

    def script(self, text: str, *words: str, seconds: float = PATIENCE) -> tuple[int, bytes]:
        name = secrets.token_hex(4)
        assert self.ask("do", name, str(seconds), text, *words) == (0, b"")
        event, who, code = self.event()
        assert (event, who) == ("done", name)
        status, printed = self.ask("fetch", name)
        assert status == 0
        return int(code), printed

    def remove(self, path: Path) -> tuple[int, str]:
        """Have it remove a scratch directory: how that ended, and what it complained of."""
        name = secrets.token_hex(4)
        assert self.ask("remove", name, str(PATIENCE), str(path)) == (0, b"")
        event, who, code = self.event()
        assert (event, who) == ("done", name)
        return int(code), self.ask("fetch", name)[1].decode()

    def bearers(self) -> list[int]:
        """The processes of this run but the agent itself."""
        mark = str(self.token)
        return [pid for pid in list_pids() if find_variable(read_environment(pid), "STEELYARD_TOKEN") == mark]

    def settled(self, name: bytes, count: int) -> None:
        """Wait until so many programs of this name run."""
        names = lambda: [read_proc(f"/proc/{pid}/comm").strip() for pid in self.bearers()]  # noqa: E731
        assert until(lambda: names().count(name) == count)

    def end(self) -> int:
        self.stdin.close()
        return self.process.wait()

    def clean(self) -> None:
        with contextlib.suppress(OSError):
            self.end()
        self.process.kill()
        self.process.wait()
        self.replies.pipe.close()
        self.events.pipe.close()
        for pid in self.bearers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def gone(pid: int) -> bool:
    found = read_process(pid)
    return found is None or found.is_dead


def frames(data: bytes) -> dict[str, bytes]:
    found = {}
    while data:
        head, _, rest = data.partition(b" ")
        length, _, rest = rest.partition(b" ")
        path, rest = rest[: int(head)], rest[int(head) :]
        assert rest[:1] == b"\n"
        found[path.decode()] = rest[1 : 1 + int(length)]
        data = rest[1 + int(length) :]
    return found
