"""What evidence is made of: files of a host and a reader of their text. Nothing here reads a file itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar


class Evidence(ABC):
    """Base of all evidence. `files` are absolute paths; one that is missing on a host reads as absent.

    A path may hold one `*` per part (`/sys/block/*/queue/scheduler`).
    """

    files: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def parse(self, raw: Mapping[str, str]) -> Mapping[str, Any]:
        """Figures in base units from raw text (path or command name to content). Pure; leaves out what is
        absent, never raises for odd content of one source: it names that source under `unreadable`."""
