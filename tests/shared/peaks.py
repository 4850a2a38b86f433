"""What GNU time says of a program's memory, as the measure of what we say of it."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

# Linux adds a task's pages to its sum in batches (SPLIT_RSS_COUNTING, and per-CPU counters since 6.2):
# the same `true` is seen with 216 pages and with 272.
BATCHES = 64 * resource.getpagesize()


def require_peak_of(argv: Sequence[str], peak: int) -> None:
    """`peak` (bytes) is what the program takes: GNU time's figure to a tenth, or to the batches."""
    if not Path("/usr/bin/time").is_file():
        pytest.skip("no /usr/bin/time")
    told = [subprocess.run(("/usr/bin/time", "-f%M", *argv), capture_output=True, check=True) for _ in "123"]
    theirs = sorted(int(one.stderr.split()[-1]) * 1024 for one in told)
    assert theirs[0] - max(theirs[0] / 10, BATCHES) <= peak <= theirs[-1] + max(theirs[-1] / 10, BATCHES)
