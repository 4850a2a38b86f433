from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from loading import loaded

real_cluster = loaded(Path(__file__).with_name("real_cluster.py"))


@pytest.fixture(scope="session")
def real() -> Iterator[object]:
    """A real cluster; its paths must be short, as there are Unix sockets among them."""
    if reason := real_cluster.lacking():
        pytest.skip(reason)
    with (
        tempfile.TemporaryDirectory(prefix="sy-k8s-") as place,
        real_cluster.start(Path(place) / "c") as cluster,
    ):
        yield cluster
