"""A real HyperQueue server and its worker, of the Python package, in a network namespace of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

UP = Path(__file__).with_name("hyperqueue_up.py")


class Server(NamedTuple):
    """Where its access key lies, and the words before a command that is to reach it."""

    directory: Path
    enter: tuple[str, ...]


def running_hyperqueue(place: Path) -> Iterator[Server]:
    """A server that lives as long as the generator. Skips where it is not installed or not allowed."""
    if find_spec("hyperqueue") is None:
        pytest.skip("the Python package hyperqueue is not installed")
    if os.geteuid():
        pytest.skip("network namespaces need root")
    directory, log = place / "server", place / "log"
    argv = ["unshare", "--net", "--uts", sys.executable, str(UP), str(directory)]
    with log.open("wb") as err, subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True, cwd=place,
        start_new_session=True,
    ) as holder:  # fmt: skip
        assert holder.stdin
        assert any(line == "ready\n" for line in holder.stdout or ()), log.read_text()
        try:
            yield Server(directory, ("nsenter", "-t", str(holder.pid), "-n", "-u"))
        finally:
            holder.stdin.close()


@pytest.fixture(scope="session")
def hyperqueue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that all tests of a session share."""
    yield from running_hyperqueue(tmp_path_factory.mktemp("hyperqueue"))
