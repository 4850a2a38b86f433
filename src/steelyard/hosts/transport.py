"""How a host far away is reached: a way to run a shell script there, with its three streams on our side."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Protocol


class Channel(Protocol):
    """A script that runs there. `stdout` and `stderr` carry bytes as they come, and end when it does."""

    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader

    async def send(self, data: bytes) -> None:
        """Write to its standard input; waits while the other side is slow. Raises HostLost."""

    async def end_input(self) -> None:
        """Close its standard input."""

    async def wait(self) -> int:
        """Its exit code (128 + n for a signal n). Raises HostLost when the way there broke."""

    def close(self) -> None:
        """Break off: its standard input ends, and nothing of it is waited for."""


class Transport(ABC):
    """A way to one host, opened once and used for all that happens there.

    `name` is the host's name in records, `address` where other hosts reach it.
    """

    name: str
    address: str

    @abstractmethod
    async def open(self) -> None:
        """Reach the host. Raises HostLost in words for the user: what was tried, why not, what to do."""

    @abstractmethod
    async def run(self, script: str) -> Channel:
        """Run `script` by the host's POSIX shell. Raises HostLost."""

    @abstractmethod
    async def close(self) -> None:
        """Leave; channels that are still open end."""
