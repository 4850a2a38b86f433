"""What every site must do, run over every site there is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kube_cluster import KubeCluster
from steelyard.plugins import builtin_names
from steelyard.testing.contract import SiteContract

HAS_NAMESPACES = os.geteuid() == 0 and shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin")


class TestSites(SiteContract):
    """Ours; those that need a scheduler, a cloud or other machines have tests of their own."""

    names = builtin_names("sites")
    leases = {"local": {}, "kubernetes": {}} | ({"netns": {"via": "nsenter"}} if HAS_NAMESPACES else {})

    @pytest.fixture(autouse=True)
    def _cluster(
        self, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[None]:
        """A cluster to lease pods from, for the tests that need one."""
        if request.node.callspec.params.get("leased") != "kubernetes":
            yield
            return
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        with KubeCluster.running() as cluster:
            kubeconfig = cluster.write_kubeconfig(tmp_path / "kubeconfig")
            options = {
                "image": "tools:1",
                "kubeconfig": str(kubeconfig),
                "scratch": {"mount": f"{tmp_path}/volume"},
            }
            monkeypatch.setitem(self.leases, "kubernetes", options)
            yield
            assert not cluster.labelled("steelyard/lease")
