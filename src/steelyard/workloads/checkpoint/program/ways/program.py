"""The way `program`: one of the user's saves itself when it is told to, and goes on from its file."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

from steelyard.workloads.checkpoint.program.faults import CheckpointFault
from steelyard.workloads.checkpoint.program.state_file import sync_directory
from steelyard.workloads.checkpoint.program.ways.user_process import UserProcess, run_command
from steelyard.workloads.checkpoint.program.ways.way import Way


class ProgramWay(Way):
    """The program in its directory. `asked` has the hooks, as the experiment file names them."""

    def __init__(self, asked: dict[str, Any], text: str) -> None:
        self._hooks: dict[str, Any] = asked["program"]
        self.path = os.path.abspath(self._hooks["state_file"])
        self._before = ""
        self._process: UserProcess | None = None

    def begin(self) -> None:
        """Start it; and read what it says of its state."""
        self._start(self._hooks["run"])
        self._before = self._read_state()

    def save(self) -> dict[str, float]:
        """Ask for it, wait until the file is there anew, and have it on the disk."""
        before, began = identify_file(self.path), time.perf_counter()
        self._ask_for_save()
        if "command" not in self._hooks["save"]:
            self._running.wait_until(lambda: identify_file(self.path) not in ("", before), "state_file")
        written = time.perf_counter()
        sync_file(self.path)
        ended = time.perf_counter()
        return {"write": written - began, "sync": ended - written, "save": ended - began}

    def kill(self) -> None:
        """With all that it started."""
        self._running.kill()

    def restore(self) -> dict[str, float]:
        """From its start until it is ready."""
        began = time.perf_counter()
        self._start(self._hooks["restore"])
        return {"restore": time.perf_counter() - began}

    def check(self) -> None:
        """It says the same of its state as before."""
        after = self._read_state()
        if after != self._before:
            raise CheckpointFault(
                f"the restored state is not what was saved: `state` printed {self._before[:200]!r} before, "
                f"and {after[:200]!r} after the restore"
            )

    def end(self) -> None:
        """Also where it never began."""
        if self._process:
            self._process.end()

    @property
    def _running(self) -> UserProcess:
        assert self._process
        return self._process

    def _start(self, words: list[str]) -> None:
        ready = self._hooks["ready"]
        with contextlib.suppress(FileNotFoundError):
            os.unlink(ready)
        self._process = UserProcess(words)
        self._process.wait_until(lambda: bool(identify_file(ready)), "ready")

    def _ask_for_save(self) -> None:
        save = self._hooks["save"]
        if "signal" in save:
            self._running.send(save["signal"])
        elif "file" in save:
            os.close(os.open(save["file"], os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        else:
            run_command(save["command"])

    def _read_state(self) -> str:
        return run_command(self._hooks["state"]) if "state" in self._hooks else ""


def identify_file(path: str) -> str:
    """What changes when a file is written anew; empty where there is none."""
    try:
        about = os.stat(path)
    except FileNotFoundError:
        return ""
    return f"{about.st_dev} {about.st_ino} {about.st_size} {about.st_mtime_ns}"


def sync_file(path: str) -> None:
    """Have a file and its name on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_directory(os.path.dirname(path))
