"""What tests of several services use."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory with a short path, removed afterwards."""
    path = Path(tempfile.mkdtemp(prefix="steelyard-test-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)
