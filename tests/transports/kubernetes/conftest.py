from __future__ import annotations

from collections.abc import Iterator

import pytest

from kube_cluster import KubeCluster


@pytest.fixture
def cluster() -> Iterator[KubeCluster]:
    with KubeCluster.running() as running:
        yield running
