"""The kind `collector`: what is recorded beside the workload.

A collector describes. It names the files to read and the commands to run on a host, and turns the raw text
into figures. The controller reads the text through the host, so that one parser serves at home and far away.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar


class Collector(ABC):
    """Base of all collectors. `files` are absolute paths; one that is missing on a host reads as absent.

    A path may hold one `*` per part (`/sys/block/*/queue/scheduler`). `commands`: name to argv, for what
    no file tells; each is bounded in time and in output, and a failing one reads as absent.
    """

    files: ClassVar[tuple[str, ...]] = ()
    commands: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @abstractmethod
    def parse(self, raw: Mapping[str, str]) -> Mapping[str, Any]:
        """Figures in base units from raw text (path or command name to content). Pure; leaves out what is
        absent, never raises for odd content of one source: it names that source under `unreadable`."""
