"""Raw text for evidence: recorded (see tests/data/proc/about.json), or read from this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from host_files import read_files

DATA = Path(__file__).parents[1] / "data" / "proc"


@pytest.fixture(scope="session")
def recorded() -> Callable[[str], Any]:
    """A recording by its name, as JSON has it."""
    return lambda name: json.loads((DATA / f"{name}.json").read_text())


@pytest.fixture(scope="session")
def read() -> Callable[[Iterable[str]], dict[str, str]]:
    """Read files of this machine by pattern, as a host does."""
    return read_files
