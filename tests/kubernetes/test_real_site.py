"""The site on a real cluster: whole runs by the least Role, and bad days."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from patience import PATIENCE, until
from steelyard.errors import HostError
from steelyard.hosts.token import Token
from steelyard.provision.kubernetes.hosts import lease_pods
from steelyard.provision.kubernetes.order import PodGroup, PodOrder, PodUse
from steelyard.testing.contract import SiteContract

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("kubernetes")]

EXPERIMENT = r"""
experiment: pods
roles: {server: 1, client: 1}
parameters: {n: [1, 2]}
workload:
  use: command
  on: client
  script: |
    echo "seconds: WAIT"
    sleep WAIT
    echo "value: $n"
  metrics: {value: {regex: 'value: (\d+)'}}
repeat: 1
disturbed: include
"""


class TestSite(SiteContract):
    """What every site must do."""

    names = ("kubernetes",)
    leases: ClassVar[dict[str, Any]] = {"kubernetes": {}}

    @pytest.fixture(autouse=True)
    def _cluster(self, real: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        options = {"image": "tools:1", "kubeconfig": str(real.kubeconfig)}
        monkeypatch.setitem(self.leases, "kubernetes", options)


class Bench:
    """A working directory with an experiment and a site of short leases."""

    def __init__(self, place: Path, real: Any) -> None:
        self.place = place
        site = {
            "use": "kubernetes",
            "image": "tools:1",
            "kubeconfig": str(real.kubeconfig),
            "requests": {"cpu": "250m", "memory": "128Mi"},
            "lease": "20s",
            "lost_after": "5s",
        }
        (place / "sites.yaml").write_text(json.dumps({"pods": site, "small": {**site, "image": "busybox:1"}}))

    def run(self, site: str = "pods", wait: float = 0) -> subprocess.Popen[str]:
        (self.place / "pods.yaml").write_text(EXPERIMENT.replace("WAIT", f"{wait:g}"))
        probe = {"STEELYARD_PROBE": "none"} if site == "small" else {}
        environment = {**os.environ, "XDG_STATE_HOME": f"{self.place}/state", **probe}
        argv = [sys.executable, "-m", "steelyard", "run", "pods.yaml", "--site", site, "--undecided", "pass"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(argv, cwd=self.place, env=environment, text=True, **pipes)

    def has_begun(self) -> bool:
        """Whether a program of a trial has printed something."""
        return any(
            "seconds" in path.read_text() for path in self.place.glob("store/runs/*/trials/*/*/*/stdout")
        )

    def history(self) -> list[dict[str, Any]]:
        (journal,) = self.place.glob("store/runs/*/journal.ndjson")
        return [json.loads(line) for line in journal.read_text().splitlines()]


@pytest.fixture
def bench(real: Any, own_place: Path) -> Bench:
    return Bench(own_place, real)


@pytest.mark.parametrize("site", ["pods", "small"])
def test_a_run_in_an_image_with_and_without_gnu_programs(real: Any, bench: Bench, site: str) -> None:
    process = bench.run(site)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert not real.labelled()
    (path,) = bench.place.glob("store/runs/*/environment.json")
    (server, client) = json.loads(path.read_text())["hosts"]
    assert (server["role"], client["role"]) == ("server", "client")
    assert client["node"] == "localhost"
    assert client["qos"] == "Guaranteed"
    assert client["kernel"] == os.uname().release
    assert client["scratch"] == "emptyDir"
    assert client["pull"] == "present"
    assert client["cores"] == 1
    assert client["memory"] == 128 << 20


def test_after_kill_9_no_object_of_any_kind_is_left(real: Any, bench: Bench) -> None:
    """The lease of 20 s, the patience of the Job, and its time to live of a minute pass first."""
    process = bench.run(wait=300)
    assert until(bench.has_begun)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert any(name.startswith("pods/") for name in real.labelled())
    assert until(lambda: not real.labelled())


def test_an_api_server_that_hangs_fails_a_trial_and_the_run_goes_on(real: Any, bench: Bench) -> None:
    process = bench.run(wait=30)
    assert until(bench.has_begun)
    with real.away():
        assert until(lambda: any("is lost" in json.dumps(line) for line in bench.history()))
    said, _ = process.communicate()
    ended = [line for line in bench.history() if line["kind"] == "trial-ended"]
    assert {line.get("status") for line in ended} >= {"ok"}, said
    assert "host client-0" in said
    assert not real.labelled()


def test_a_pod_that_is_deleted_is_made_anew(real: Any, bench: Bench) -> None:
    process = bench.run(wait=15)
    assert until(bench.has_begun)
    (former,) = [pod["metadata"]["name"] for pod in real.pods() if "-client-" in pod["metadata"]["name"]]
    real.ask("DELETE", f"/api/v1/namespaces/bench/pods/{former}")
    said, _ = process.communicate()
    ended = [line for line in bench.history() if line["kind"] == "trial-ended"]
    assert "ok" in {line.get("status") for line in ended}, said
    assert "host client-0" in said
    assert not real.labelled()


# What does not run


def lease(real: Any, folder: Path, group: PodGroup, seconds: float = 10.0) -> None:
    async def whole() -> None:
        use = PodUse(kubeconfig=str(real.kubeconfig), within=seconds, lost_after=PATIENCE)
        async with lease_pods(PodOrder((group,)), use, Token.of("test-run"), folder / "log"):
            raise AssertionError("it runs")

    asyncio.run(whole())


TEMPLATES: dict[str, Any] = {
    "root": {"spec": {"securityContext": {"runAsNonRoot": None, "runAsUser": 0}}},
    "no shell": {"spec": {"containers": [{"name": "main", "command": ["/no/shell"]}]}},
}


@pytest.mark.parametrize(
    ("group", "says"),
    [
        (PodGroup("a", 1, "tools:1", {"cpu": "1000"}), r"no node has room for it \(Unschedulable: 0/1 nodes"),
        (PodGroup("a", 1, "absent.invalid/x:1"), r"its image cannot be pulled"),
        (PodGroup("a", 1, "Not An Image"), r"name of its image is malformed|Invalid value"),
        (PodGroup("a", 1, "tools:1", {}, (TEMPLATES["root"],)), "violates PodSecurity"),
        (PodGroup("a", 1, "tools:1", {}, (TEMPLATES["no shell"],)), r"does the image have `sh`\?"),
        (PodGroup("a", 1, "tools:1", {"memory": "1"}), "given back"),
    ],
)
def test_what_does_not_run_is_given_back_with_the_reason(
    real: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: PodGroup, says: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with pytest.raises(HostError, match=f"(?s){says}"):
        lease(real, tmp_path, group)
    assert not real.labelled()


def test_a_quota_is_told(real: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    quotas = "/api/v1/namespaces/bench/resourcequotas"
    real.ask("POST", quotas, {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    try:
        assert until(lambda: "used" in real.ask("GET", f"{quotas}/none").get("status", {}))
        with pytest.raises(HostError, match="exceeded quota"):
            lease(real, tmp_path, PodGroup("a", 1, "tools:1"))
    finally:
        real.ask("DELETE", f"{quotas}/none")
    assert not real.labelled()
