"""What the cluster forbids is told before anything is started."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from kube_cluster import KubeCluster
from steelyard.errors import HostError
from steelyard.hosts.token import Token
from steelyard.provision.kubernetes.hosts import lease_pods
from steelyard.provision.kubernetes.order import PodGroup, PodOrder, PodUse
from steelyard.provision.lease_files import leases_folder

Make = Callable[..., PodOrder]
MakeUse = Callable[..., PodUse]
ROOT = {"spec": {"securityContext": {"runAsNonRoot": None, "runAsUser": 0}}}


def lease(order: PodOrder, use: PodUse, log: Path) -> None:
    async def whole() -> None:
        async with lease_pods(order, use, Token.of("test-run"), log):
            """Only be there."""

    asyncio.run(whole())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, r"role load: .*violates PodSecurity .*; nothing was started"),
        ({"quota": 0}, r"role db: .*exceeded quota; nothing was started"),
        ({"denied": {("create", "jobs")}}, r"role db: cannot create jobs: .*cannot create resource"),
        ({"denied": {("create", "pods")}}, r"role db: cannot create pods: .*cannot create resource"),
        ({"fault": (404, 'namespaces "bench" not found')}, r"role db: .*namespaces .* not found"),
    ],
)
def test_what_the_namespace_forbids_is_told_before_any_job_is_there(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path, change: dict[str, object], says: str
) -> None:
    for name, value in change.items():
        setattr(cluster.behaviour, name, value)
    groups = (PodGroup("db", 1, "tools:1"), PodGroup("load", 1, "tools:1", {}, (ROOT,)))
    with pytest.raises(HostError, match=says):
        lease(order(groups=groups), use(), tmp_path / "log")
    posted = [each for each in cluster.requests if each.startswith("POST")]
    assert posted
    assert all("dryRun=All" in each for each in posted)
    assert not leases_folder().exists() or not list(leases_folder().iterdir())


def test_where_root_is_allowed_the_check_passes(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    cluster.behaviour.is_restricted = False
    lease(order(groups=(PodGroup("db", 1, "tools:1", {}, (ROOT,)),)), use(), tmp_path / "log")
