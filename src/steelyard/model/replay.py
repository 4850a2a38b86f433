"""What a workload says that makes the calls of a trace again."""

from __future__ import annotations

from typing import NamedTuple


class ReplayedTrace(NamedTuple):
    """The trace's name or path, and the path below which files are meant; empty for all."""

    name: str
    under: str = ""
