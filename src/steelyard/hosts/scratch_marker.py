"""What a run writes into the scratch directories that it makes, to know them again: a secret of its own."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True, slots=True)
class ScratchMarker:
    """The content of a marker: `RUN:SECRET`.

    Journals hold its digest alone. So whoever can read one cannot make a directory that `clean` would take
    for the run's, and a journal that somebody made up names no directory of another run.
    """

    text: str = field(repr=False)

    @classmethod
    def generate(cls, run: str) -> Self:
        """Draw one for a run."""
        return cls(f"{run}:{secrets.token_hex(16)}")

    def __str__(self) -> str:
        return self.text

    @property
    def digest(self) -> str:
        """SHA-256 of it, in hex."""
        return digest(self.text)


def digest(text: str) -> str:
    """SHA-256 of what a marker holds, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()
