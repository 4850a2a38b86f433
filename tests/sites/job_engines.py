"""Real Slurm and real HyperQueue, both reached from one network namespace: engines for `use: jobs`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from loading import loaded

HERE = Path(__file__).parent
CLUSTER = HERE.parents[1] / "scripts" / "cluster"
hyperqueue_server = loaded(HERE / "hyperqueue_server.py")
slurm_cluster = loaded(HERE / "slurm_cluster.py")


class Engines(NamedTuple):
    """The words before a command that is to reach both, and its variables."""

    enter: tuple[str, ...]
    variables: dict[str, str]

    def ask(self, *words: str) -> str:
        """What a command prints."""
        done = subprocess.run(
            [*self.enter, *words], env={**os.environ, **self.variables}, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        return done.stdout


def running_engines(place: Path) -> Iterator[Engines]:
    """Both, for as long as the generator lives. Skips where one is not installed."""
    if lacking := slurm_cluster.load().missing():
        pytest.skip(f"not installed: {', '.join(lacking)}")
    (place / "hyperqueue").mkdir()
    for server in hyperqueue_server.running_hyperqueue(place / "hyperqueue"):
        cluster = [*server.enter, sys.executable, str(CLUSTER)]
        give_address(server.enter)
        subprocess.run([*cluster, "up", "--nodes", "2", "--dir", str(place / "slurm")], check=True)
        try:
            variables = {
                "HQ_SERVER_DIR": str(server.directory),
                "SLURM_CONF": str(place / "slurm" / "slurm.conf"),
            }
            yield Engines(server.enter, variables)
        finally:
            subprocess.run([*cluster, "down", "--dir", str(place / "slurm")], check=True)


def give_address(enter: tuple[str, ...]) -> None:
    """One beside the loopback, without which the C library finds no names for Slurm."""
    for words in ("link add b0 type bridge", "addr add 10.99.0.1/32 dev b0", "link set b0 up"):
        subprocess.run([*enter, "ip", *words.split()], check=True)
