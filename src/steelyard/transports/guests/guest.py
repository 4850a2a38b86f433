"""One guest: a program below the run's minder, in the network namespace of the hub, that can be killed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from steelyard.errors import HostError, HostLost
from steelyard.hosts.agent.child import AgentChild
from steelyard.hosts.lease import Lease
from steelyard.hosts.minder.processes import list_processes
from steelyard.printable import make_printable
from steelyard.transports.namespaces.holders import start_program
from steelyard.untrusted import open_regular

BOOT_WITHIN = 120.0  # seconds; it takes three where nothing else runs
_PANIC = "Kernel panic"
_LINES, _BYTES = 5, 1 << 16  # of a console, at its end


class BootScript(NamedTuple):
    """How a guest starts: a script that says `ready` when its sshd may be asked, its words and variables.

    Two words more are the file `disk`, and that of the state to go on from, or an empty word.
    The guest is the script's only child, and the script ends with it. What its kernel says goes to the file
    that the variable SY_CONSOLE names.
    """

    script: str
    words: Sequence[str]
    variables: Mapping[str, str]
    disk: Path


class Guest:
    """A guest that can be booted again and again. `console` keeps what its kernel says, boot after boot."""

    def __init__(self, lease: Lease, name: str, hub: int, boot: BootScript, console: Path) -> None:
        self.name, self.console = name, console
        self._lease, self._hub, self._boot = lease, hub, boot
        self._holder: AgentChild | None = None
        self._began = 0  # where the console of this boot begins, in bytes

    @property
    def pid(self) -> int:
        """Of the process that holds its namespaces; 0 where it does not run."""
        return self._holder.pid if self._holder else 0

    @property
    def is_running(self) -> bool:
        """Whether it was booted, and nobody has killed it or seen it end."""
        return self._holder is not None

    async def boot(self, state: str = "") -> None:
        """Boot it; returns when its sshd may be asked. Raises HostLost with the end of its console.

        With the file of a state that was saved it is there as it was then, and still stopped.
        """
        self._began = self.console.stat().st_size if self.console.exists() else 0
        try:
            await self._start(state)
        except BaseException:
            await asyncio.shield(self.kill())
            raise

    async def _start(self, state: str) -> None:
        inside = ("setpriv", "--pdeathsig", "KILL", "unshare", "-m", "nsenter", "-t", str(self._hub), "-n")
        words = (*self._boot.words, str(self._boot.disk), state)
        argv = (*inside, "sh", "-c", self._boot.script, "sh", *words)
        variables = {**self._boot.variables, "SY_CONSOLE": str(self.console.absolute())}
        async with start_program(self._lease, argv, variables) as (self._holder, says):
            try:
                async with asyncio.timeout(BOOT_WITHIN):
                    await says.readuntil(b"ready\n")
            except asyncio.IncompleteReadError as error:
                said = " ".join(error.partial.decode(errors="replace").split()) or self.read_last_words()
                raise HostLost(f"guest {self.name} did not boot: {said}", hint=self._hint) from error
            except TimeoutError as error:
                said = f"did not boot within {BOOT_WITHIN:g} s: {self.read_last_words()}"
                raise HostLost(f"guest {self.name} {said}", hint=self._hint) from error

    async def kill(self) -> None:
        """End it as a power cut does, paused or not; returns when nothing of it is left."""
        holder, self._holder = self._holder, None
        if holder:
            self._signal(holder, signal.SIGKILL)
            await holder.kill(grace=0.0)

    def pause(self) -> None:
        """Stop its kernel. What runs in a guest waits for that, and must not be stopped."""
        if self._holder:
            self._signal(self._holder, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let its kernel go on."""
        if self._holder:
            self._signal(self._holder, signal.SIGCONT)

    async def wait_for_end(self) -> HostError:
        """Wait until it ends by itself, and say how: a panic, as a rule."""
        if self._holder:
            await self._holder.wait()
        self._holder = None
        return HostError(f"guest {self.name} ended by itself: {self.read_last_words()}", hint=self._hint)

    def read_last_words(self) -> str:
        """The last lines of its console since it was booted; after a panic, those that led there."""
        lines = _read_end(self.console, self._began)
        panic = next((at for at, line in enumerate(lines, 1) if _PANIC in line), len(lines))
        said = " | ".join(lines[max(0, panic - _LINES) : panic])
        return f"its console ends: {said}" if said else "its console is empty"

    @property
    def _hint(self) -> str:
        return f"see {self.console}; give guests more `memory`, or boot fewer of them"

    def _signal(self, holder: AgentChild, number: signal.Signals) -> None:
        for process in list_processes().values():
            if process.parent == holder.pid:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, number)


def _read_end(console: Path, since: int) -> list[str]:
    """The last lines of a file from a byte on, without empty ones; none where it cannot be read."""
    try:
        with open_regular(console) as file:
            file.seek(max(since, file.seek(0, os.SEEK_END) - _BYTES))
            text = make_printable(file.read(_BYTES).decode(errors="replace"))
    except OSError:
        return []
    return [line.strip() for line in text.split("\n") if line.strip()]
