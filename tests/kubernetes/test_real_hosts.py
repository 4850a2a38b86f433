"""The contract of all hosts, over a pod of a real cluster that shares files and process ids with us."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from patience import PATIENCE
from steelyard.hosts.base import Host
from steelyard.hosts.token import Token
from steelyard.provision.kubernetes.hosts import lease_pods
from steelyard.provision.kubernetes.order import PodGroup, PodOrder, PodUse

contract = loaded(Path(__file__).parents[1] / "contract" / "test_hosts.py")
kinds = contract.hosts
pytestmark = [pytest.mark.full, pytest.mark.xdist_group("kubernetes")]
tell, setting = contract.tell, contract.setting
globals().update({name: test for name, test in vars(contract).items() if name.startswith("test_")})


def template(folder: Path) -> dict[str, Any]:
    """A pod that sees the folder of the test, and all processes: privileged, as no pod of a run is."""
    mount = {"name": "shared", "mountPath": str(folder)}
    return {
        "spec": {
            "hostPID": True,
            "securityContext": {"runAsNonRoot": None, "runAsUser": 0, "runAsGroup": 0, "fsGroup": None},
            "containers": [{"name": "main", "volumeMounts": [mount], "securityContext": None}],
            "volumes": [{"name": "shared", "hostPath": {"path": str(folder)}}],
        }
    }


@pytest.fixture(params=["sh", "probe"])
def kind(request: pytest.FixtureRequest, real: Any, tmp_path: Path) -> Any:
    """A pod, as the suite wants its hosts."""
    state = tmp_path.with_name(f"{tmp_path.name}-state")

    @asynccontextmanager
    async def open_(setting: Any) -> AsyncIterator[Host]:
        order = PodOrder((PodGroup("n", 1, "tools:1", {}, (template(setting.folder),)),))
        use = PodUse(str(real.admin), namespace="default", within=PATIENCE, lost_after=PATIENCE)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(state))
            if request.param == "sh":
                patch.setenv("STEELYARD_PROBE", "none")
            async with lease_pods(order, use, Token.of(setting.token.run), setting.log) as (host,):
                yield host

    if request.param == "probe" and (reason := kinds.lacks_probe()):
        pytest.skip(reason)
    return kinds.Kind(f"pod-{request.param}", open_)
