"""What QEMU is asked while a guest runs: the QEMU Machine Protocol, of which a save needs little.

Source: QEMU, "QEMU QMP Reference Manual" (7.2), and docs/interop/qmp-spec.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self

from steelyard.errors import HostError

ANSWER_WITHIN = 120.0  # seconds
_LINE = 1 << 20  # bytes
_GLANCE = 0.02


class Monitor:
    """A connection to QEMU: `with Monitor.open(path) as monitor:`. All of it blocks, and raises HostError."""

    def __init__(self, connection: socket.socket, answers: BinaryIO) -> None:
        self._connection, self._answers = connection, answers

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Self]:
        """Reach the monitor at a socket, as soon as it is there."""
        with _connect(path) as connection, connection.makefile("rb") as answers:
            monitor = cls(connection, answers)
            monitor._read()  # its greeting
            monitor.ask("qmp_capabilities")
            yield monitor

    def ask(self, command: str, arguments: dict[str, Any] | None = None, file: BinaryIO | None = None) -> Any:
        """Have it do something, with an open file of ours where that is needed; what it returns."""
        text = json.dumps({"execute": command, "arguments": arguments or {}}).encode() + b"\n"
        try:
            socket.send_fds(self._connection, [text], [file.fileno()] if file else [])
        except OSError as error:
            raise HostError(f"QEMU took no `{command}`: {error}") from error
        while True:
            said = self._read()
            if "error" in said:
                raise HostError(f"QEMU refused `{command}`: {str(said['error'])[:300]}")
            if "return" in said:
                return said["return"]

    def await_status(self, command: str, wanted: str) -> None:
        """Ask until it says this status."""
        deadline = time.monotonic() + ANSWER_WITHIN
        while (said := self.ask(command)).get("status") != wanted:
            if said.get("status") == "failed" or time.monotonic() > deadline:
                raise HostError(f"QEMU says {str(said)[:300]} to `{command}`")
            time.sleep(_GLANCE)

    def _read(self) -> dict[str, Any]:
        try:
            said = json.loads(self._answers.readline(_LINE) or b"null")
        except (OSError, ValueError) as error:
            raise HostError(f"QEMU sent no answer: {error}") from error
        if not isinstance(said, dict):
            raise HostError("QEMU ended the connection to its monitor")
        return said


def _connect(path: Path) -> socket.socket:
    deadline = time.monotonic() + ANSWER_WITHIN
    while True:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(ANSWER_WITHIN)
        try:
            connection.connect(os.fspath(path))
            return connection
        except OSError as error:
            connection.close()
            if time.monotonic() > deadline:
                raise HostError(f"QEMU's monitor was not reached: {error}") from error
            time.sleep(_GLANCE)
