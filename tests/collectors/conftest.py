"""Raw text for the collectors: recorded (see tests/data/proc/about.json), or read from this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[1] / "data" / "proc"


@pytest.fixture(scope="session")
def recorded() -> Callable[[str], Any]:
    """A recording by its name, as JSON has it."""
    return lambda name: json.loads((DATA / f"{name}.json").read_text())


@pytest.fixture(scope="session")
def read() -> Callable[[Iterable[str]], dict[str, str]]:
    """Read files of this machine by pattern, as a host does."""
    return _read


def _read(patterns: Iterable[str]) -> dict[str, str]:
    found = {}
    for pattern in patterns:
        for path in Path("/").glob(pattern.removeprefix("/")) if "*" in pattern else [Path(pattern)]:
            try:
                found[str(path)] = path.read_bytes().decode(errors="replace")
            except OSError:
                continue
    return found
