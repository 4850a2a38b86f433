"""The processes that a test has started itself."""

from __future__ import annotations

import os

from steelyard.hosts.minder.processes import list_processes


def children() -> set[int]:
    """Their pids, also of those that have ended and wait to be collected; other tests may have left some."""
    return {pid for pid, entry in list_processes().items() if entry.parent == os.getpid()}
