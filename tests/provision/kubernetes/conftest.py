from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kube_cluster import KubeCluster
from patience import PATIENCE
from steelyard.provision.kubernetes.order import PodGroup, PodOrder, PodUse, ScratchVolume


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KubeCluster]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with KubeCluster.running() as running:
        yield running


@pytest.fixture
def use(cluster: KubeCluster, tmp_path: Path) -> Callable[..., PodUse]:
    kubeconfig = str(cluster.write_kubeconfig(tmp_path / "kubeconfig"))
    given = {"kubeconfig": kubeconfig, "within": PATIENCE, "connect_within": PATIENCE, "lost_after": PATIENCE}
    return lambda **more: PodUse(**{**given, **more})


@pytest.fixture
def order(tmp_path: Path) -> Callable[..., PodOrder]:
    volume = ScratchVolume(f"{tmp_path}/volume")

    def make(**more: Any) -> PodOrder:
        groups = more.pop("groups", (PodGroup("db", 1, "tools:1"), PodGroup("load", 2, "tools:1")))
        return PodOrder(groups, **{"scratch": volume, "lease": 3600.0, **more})

    return make
