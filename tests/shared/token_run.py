"""What tests of real processes share: a run id of their own, and the certainty that nothing of it stays."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from patience import PATIENCE, until
from steelyard.hosts.minder.processes import list_pids, list_processes, read_proc
from steelyard.hosts.sweep import Bearer, end_bearers, find_bearers
from steelyard.hosts.token import Token


class Run:
    """One test's run: what bears its token, its minders, and what the test started itself."""

    def __init__(self, folder: Path) -> None:
        self.id, self.folder = f"test-{secrets.token_hex(6)}", folder
        self.started: list[subprocess.Popen[str]] = []

    @property
    def token(self) -> Token:
        return Token.of(self.id)

    def bearers(self) -> list[Bearer]:
        return find_bearers(lambda token: token.run == self.id)

    def settled(self, sleeping: int, others: int = 0) -> bool:
        """Whether so many `sleep`s run, and so many other programs: then no shell is still on its way."""
        names = [read_proc(f"/proc/{bearer.pid}/comm").strip() for bearer in self.bearers()]
        return (names.count(b"sleep"), len(names)) == (sleeping, sleeping + others)

    def minders(self) -> list[int]:
        # The controller's command line has the run's id too, but not followed by a colon.
        return [
            pid for pid in list_pids() if f"{self.id}:".encode() in read_proc(f"/proc/{pid}/cmdline", 1 << 16)
        ]

    def controller(self, *options: str) -> subprocess.Popen[str]:
        """A controller in a process of its own; see controller.py for its options."""
        program = Path(__file__).parents[1] / "hosts" / "controller.py"
        return self.popen(sys.executable, str(program), self.id, str(self.folder), *options)

    def popen(self, *argv: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """A process that ends with the test, also when that fails."""
        started = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.started.append(started)
        return started

    def until(self, condition: Callable[[], bool], seconds: float = PATIENCE) -> bool:
        """Look again and again until something is so; False when it never is."""
        return until(condition, seconds)

    def all_gone(self, seconds: float = PATIENCE) -> bool:
        """Whether no process of the run is left, nor its minder; 0 seconds: at once."""
        return until(lambda: not self.bearers() and not self.minders(), seconds)

    def end(self) -> None:
        for started in self.started:
            started.kill()
            started.wait()
            if started.stdout:
                started.stdout.close()
        for pid in self.minders():
            os.kill(pid, signal.SIGKILL)
        end_bearers(lambda token: token.run == self.id)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def alive() -> Callable[[int], bool]:
    """Whether a process is there and not only waiting to be collected."""

    def ask(pid: int) -> bool:
        found = list_processes().get(pid)
        return found is not None and not found.is_dead

    return ask
