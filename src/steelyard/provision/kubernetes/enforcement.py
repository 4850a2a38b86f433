"""Whether a cluster's network heeds policies: tried between two pods, before anything hangs on it.

The API server takes policies on any cluster; whether they do anything is up to the network plug-in, and some
let open connections pass.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import Self

from steelyard.errors import HostError
from steelyard.hosts.base import Process, Streams
from steelyard.model.command import Command
from steelyard.printable import make_one_line
from steelyard.provision.kubernetes.pod_host import PodHost

NETWORK = frozenset({"cut-network", "part-network"})
"""The capabilities that hang on it."""
PATIENCE = 30.0
"""Seconds for a policy to take effect."""
_GLANCE = 0.2
_PASS, _FAIL = "11", "00"
_WORDS = {"10": "an open connection", "01": "a new connection", "11": "an open and a new connection"}

_PROGRAMS = (("python3", "-c", "talk.py"), ("perl", "-e", "talk.pl"))
_HINT = (
    "`cut` and `partition` need a network plug-in that enforces policies, also on open connections; "
    "leave these events out, or use the site netns"
)


async def check_enforcement(hosts: Sequence[PodHost]) -> None:
    """See an open and a new connection between two pods fail, and pass again. Raises HostError."""
    if len(hosts) < 2:
        hint = "let a role have one more host"
        raise HostError(
            "events on the network of pods need two pods to try it between; there is one", hint=hint
        )
    cut, other = hosts[:2]
    with tempfile.TemporaryDirectory() as folder:
        async with _Talk.running(other, Path(folder), "listen", other.address) as door:
            port = await door.wait_for_line()
            async with _Talk.running(cut, Path(folder), "try", other.address, port) as talk:
                await talk.wait_for(_PASS, f"{cut.name} and {other.name} do not reach each other")
                try:
                    await cut.cut()
                    await talk.wait_for(_FAIL, "the cluster's network does not enforce a NetworkPolicy")
                finally:
                    await cut.heal()
                await talk.wait_for(_PASS, "a NetworkPolicy that was removed is still enforced")


class _Talk:
    """`talk.py`, or the same in Perl, in a pod; what it prints is read as it comes."""

    def __init__(self, host: PodHost, process: Process, output: Path) -> None:
        self._host, self._process, self._output = host, process, output
        self._end = asyncio.ensure_future(process.wait())

    @classmethod
    @asynccontextmanager
    async def running(cls, host: PodHost, folder: Path, *words: str) -> AsyncIterator[Self]:
        output = folder / host.name
        command = Command((*await _find_program(host), *words))
        place = host.scratch_base() or PurePosixPath("/")
        talk = cls(host, await host.start(command, Streams(output, output), cwd=place), output)
        try:
            yield talk
        finally:
            await talk._process.kill(grace=0)
            await asyncio.wait([talk._end])

    async def wait_for_line(self) -> str:
        """The first that it prints. Raises HostError."""
        return await self._wait_until(lambda line: line.isdigit(), "it prints no port")

    async def wait_for(self, state: str, failure: str) -> None:
        """Until it prints this. Raises HostError with what passes instead."""
        await self._wait_until(lambda line: line == state, failure)

    async def _wait_until(self, holds: Callable[[str], bool], failure: str) -> str:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        while not holds(line := self._read_last_line()):
            if self._end.done():
                raise HostError(f"host {self._host.name}: {failure}: the program that tries it ended: {line}")
            if loop.time() > deadline:
                raise HostError(f"{failure}{self._describe(line)}", hint=_HINT)
            await asyncio.sleep(_GLANCE)
        return line

    def _read_last_line(self) -> str:
        lines = self._output.read_text(errors="replace").split("\n")[:-1]
        return make_one_line(lines[-1])[:200] if lines else ""

    def _describe(self, line: str) -> str:
        return (
            f": {PATIENCE:g} s later, {self._host.name} has {_WORDS.get(line, 'no connection')} that passes"
        )


async def _find_program(host: PodHost) -> tuple[str, ...]:
    """What tries connections there. Raises HostError."""
    for program, option, name in _PROGRAMS:
        if await host.which(program):
            return (program, option, Path(__file__).with_name(name).read_text("utf-8"))
    hint = "add one of them to its image"
    raise HostError(f"host {host.name}: connections are tried by python3 or perl; it has neither", hint=hint)
