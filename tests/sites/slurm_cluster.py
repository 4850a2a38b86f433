"""A real Slurm cluster of four nodes for tests: the same code as `make cluster-up`."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "cluster"


def load() -> ModuleType:
    """scripts/cluster as a module; it has no suffix, being a command."""
    loader = importlib.machinery.SourceFileLoader("steelyard_cluster", str(SCRIPT))
    spec = importlib.util.spec_from_loader("steelyard_cluster", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def running_cluster(place: Path, *, nodes: int = 4, namespaces: bool = False) -> Iterator[Path]:
    """The `slurm.conf` of a cluster that lives as long as the generator. Skips where there is no Slurm."""
    code = load()
    if lacking := code.missing():
        pytest.skip(f"not installed: {', '.join(lacking)}")
    if namespaces and os.geteuid():
        pytest.skip("network namespaces need root")
    cluster = code.Cluster(place)
    try:
        cluster.up(nodes, namespaces=namespaces)
        yield cluster.conf
    finally:
        cluster.down()


@pytest.fixture(scope="session")
def slurm_conf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where SLURM_CONF points for a cluster of four nodes, n1 to n4, that all tests of a session share."""
    yield from running_cluster(tmp_path_factory.mktemp("slurm"))
