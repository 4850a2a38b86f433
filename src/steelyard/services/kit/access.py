"""What a service listens on, and what it asks of whoever connects: declared by each, checked while it
runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Listener:
    """One kind of port of a service, on each of its hosts.

    `purpose` it is for; `binding`: to its host's own address, to the host's loopback, to every address of the
    host, elsewhere, where another run has bound it, or chosen by the program itself; `authentication`: what
    whoever connects must show, empty where that is nothing; `encrypted`: `no`, `yes`, or where it is.
    """

    purpose: str
    authentication: str
    binding: Literal["host", "loopback", "everywhere", "elsewhere", "chosen"] = "host"
    encrypted: str = "no"

    @property
    def is_open(self) -> bool:
        """Whether it serves whoever reaches it."""
        return not self.authentication
