"""Pods of a cluster: what people write of them, and whole runs, on the stand-in."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kube_cluster import KubeCluster
from patience import until
from steelyard.errors import SpecError, UsageError
from steelyard.provision.kubernetes.order import LABEL, PodOrder
from steelyard.sites.kubernetes import Kubernetes, KubernetesOptions
from steelyard.spec.sites import resolve

EXPERIMENT = r"""
experiment: pods
roles: {server: 1, client: 1}
parameters: {n: [1, 2, 3]}
workload:
  use: command
  on: client
  script: |
    echo begun >>MARKS
    until [ -e GATE ]; do sleep 0.05; done
    echo "value: $n"
  metrics: {value: {regex: 'value: (\d+)'}}
repeat: 1
disturbed: include
"""


def order(roles: dict[str, Any], hosts: int | None = None, **given: Any) -> PodOrder:
    return KubernetesOptions.model_validate({"image": "tools:1", **given}).make_order(roles, hosts)


def counts(made: PodOrder) -> dict[str, int]:
    return {group.role: group.count for group in made.groups}


def test_a_job_for_each_role() -> None:
    assert counts(order({"server": 1, "client": 3}, 4)) == {"server": 1, "client": 3}
    assert counts(order({"server": 1, "client": "all"}, hosts=None)) == {"server": 1, "client": 1}
    many = KubernetesOptions.model_validate({"image": "tools:1", **Kubernetes.parse_shorthand("5")})
    assert counts(many.make_order({"server": 1, "client": "all"}, None)) == {"server": 1, "client": 4}
    assert Kubernetes(many).size() == 5


def test_what_is_different_for_a_role() -> None:
    roles = {"db": {"image": "redis:7", "requests": {"cpu": 4}, "pod": {"spec": {"priority": 1}}}}
    given = {"image": "tools:1", "requests": {"cpu": "1"}, "roles": roles}
    options = KubernetesOptions.model_validate(given)
    first, second = options.make_order({"db": 1, "load": 1}, None).groups
    assert (first.image, first.requests, first.templates[1]) == (
        "redis:7",
        {"cpu": "4"},
        {"spec": {"priority": 1}},
    )
    assert (second.image, second.requests, second.templates) == ("tools:1", {"cpu": "1"}, ({}, {}))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"image": None}, "image"),
        ({"requests": {"cpu": "two"}}, "not a quantity"),
        ({"requests": {"cpu": "0"}}, "not more than 0"),
        ({"scratch": {"storage_class": "fast"}}, "a claim needs a `size`"),
        ({"lease": "20s"}, "at least four times `lost_after`"),
        ({"pod": {"nodeSelector": {}}}, "nodeSelector"),
        ({"spread": "rack"}, "spread"),
        ({"scratch": {"mount": "data"}}, "mount"),
    ],
)
def test_what_cannot_be_is_told(own_place: Path, given: dict[str, Any], says: str) -> None:
    entry = {"use": "kubernetes", "image": "tools:1", **given}
    Path("sites.yaml").write_text(json.dumps({"pods": {k: v for k, v in entry.items() if v is not None}}))
    with pytest.raises(SpecError, match=says):
        resolve("pods")


def test_a_number_of_pods_is_a_number() -> None:
    with pytest.raises(UsageError, match="as in kubernetes:4"):
        Kubernetes.parse_shorthand("many")


def test_a_cluster_that_anybody_may_play_is_warned_of(own_place: Path) -> None:
    cluster = KubeCluster()
    cluster.url = "https://127.0.0.1:1"
    path = cluster.write_kubeconfig(own_place / "kubeconfig")
    site = Kubernetes(KubernetesOptions(image="tools:1", kubeconfig=str(path), roles={"db": {}}))
    assert site.warnings() == ("site kubernetes: no role is called 'db'",)
    document = json.loads(path.read_text())
    document["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True
    path.write_text(json.dumps(document))
    site.note_roles({"db": 1})
    assert site.warnings() == ("site kubernetes: insecure-skip-tls-verify trusts any server that answers",)


# Whole runs


class Bench:
    """A working directory with an experiment whose trials wait for a file, and a site."""

    def __init__(self, place: Path, cluster: KubeCluster) -> None:
        self.place, self.cluster = place, cluster
        self.gate, self.marks = place / "gate", place / "marks"
        text = EXPERIMENT.replace("GATE", str(self.gate)).replace("MARKS", str(self.marks))
        (place / "pods.yaml").write_text(text)
        site = {
            "use": "kubernetes",
            "image": "tools:1",
            "kubeconfig": str(cluster.write_kubeconfig(place / "kubeconfig")),
            "scratch": {"mount": f"{place}/volume"},
            "lease": "20min",
            "lost_after": "5min",
            "connect_within": "5min",
        }
        (place / "sites.yaml").write_text(json.dumps({"pods": site}))

    def set_site(self, **changes: Any) -> None:
        """Say something else of the site."""
        sites = json.loads((self.place / "sites.yaml").read_text())
        sites["pods"] |= changes
        (self.place / "sites.yaml").write_text(json.dumps(sites))

    def steelyard(self, *words: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "XDG_STATE_HOME": f"{self.place}/state", "STEELYARD_PROBE": "none"}
        argv = [sys.executable, "-m", "steelyard", *words]
        return subprocess.Popen(
            argv, cwd=self.place, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def run(self) -> subprocess.Popen[str]:
        return self.steelyard("run", "pods.yaml", "--site", "pods", "--undecided", "pass")

    def begun(self) -> int:
        return self.marks.read_text().count("begun") if self.marks.exists() else 0

    def add(self, text: str) -> None:
        """Say more in the experiment."""
        with (self.place / "pods.yaml").open("a") as file:
            file.write(text)

    def journal(self) -> list[dict[str, Any]]:
        lines = [path.read_text() for path in self.place.glob("store/runs/*/journal.ndjson")]
        return [json.loads(line) for line in "".join(lines).splitlines(True) if line.endswith("\n")]

    def count(self, kind: str) -> int:
        """So many lines of a kind are in the journal."""
        return sum(line["kind"] == kind for line in self.journal())

    def record(self) -> Path:
        (folder,) = (self.place / "store" / "runs").iterdir()
        return folder


@pytest.fixture
def bench(own_place: Path) -> Iterator[Bench]:
    with KubeCluster.running() as cluster:
        yield Bench(own_place, cluster)


def test_a_run(bench: Bench) -> None:
    bench.gate.touch()
    process = bench.run()
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert bench.begun() == 3
    assert not bench.cluster.labelled(LABEL)
    environment = json.loads((bench.record() / "environment.json").read_text())
    assert "steelyard-" in json.dumps(environment)
    assert "secret-token" not in json.dumps(environment) + "".join(bench.cluster.requests)


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
def test_a_cluster_keeps_its_controller_here_and_its_application_is_in_a_pod(
    bench: Bench, enterable: Path
) -> None:
    # The server gives up root, which pods of the stand-in have.
    bench.set_site(scratch={"mount": f"{enterable}/volume"})
    words = ("--site", "pods", "--database", "redis", "-nC", "1", "-nA", "1", "--disjoint", "--finish")
    appl = 'sh -c \'[ "$PWD" != "$0" ] && echo "port $STEELYARD_SERVICE_PORT"; exit 7\' ' + str(bench.place)
    process = bench.steelyard("cluster", "run", *words, "--appl", appl)
    said, _ = process.communicate()
    assert process.returncode == 7, said
    assert "port " in said
    hosts = json.loads((bench.record() / "environment.json").read_text())["hosts"]
    assert [host["role"] for host in hosts] == ["db", "app"]
    assert not bench.cluster.labelled(LABEL)


def test_an_api_server_that_is_away_fails_a_trial_and_the_run_goes_on(bench: Bench) -> None:
    process = bench.run()
    assert until(lambda: bench.begun() == 1)
    bench.cluster.behaviour.is_away = True
    bench.cluster.cut_streams()
    asked = len(bench.cluster.requests)
    assert until(lambda: len(bench.cluster.requests) > asked + 2)
    bench.gate.touch()
    bench.cluster.behaviour.is_away = False
    said, _ = process.communicate()
    assert bench.begun() >= 3, said
    assert "host client-0" in said
    assert not bench.cluster.labelled(LABEL)


def test_a_token_that_expires_is_told(bench: Bench) -> None:
    process = bench.run()
    assert until(lambda: bench.begun() == 1)
    bench.cluster.behaviour.tokens = {"another"}
    bench.cluster.cut_streams()
    said, _ = process.communicate()
    assert process.returncode == 3
    assert "a token may have expired" in said
    assert "Traceback" not in said


def test_after_kill_9_nothing_bears_the_label_when_lease_and_time_to_live_are_over(bench: Bench) -> None:
    bench.set_site(lease="12s", lost_after="3s")
    bench.cluster.behaviour.time_to_live = 0.0
    process = bench.run()
    assert until(lambda: bench.begun() == 1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert bench.cluster.labelled(LABEL)
    assert until(lambda: not bench.cluster.labelled(LABEL))


def test_clean_does_not_wait_for_the_lease(bench: Bench) -> None:
    process = bench.run()
    assert until(lambda: bench.begun() == 1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    cleaning = bench.steelyard("clean")
    said, _ = cleaning.communicate()
    assert cleaning.returncode == 0, said
    assert said.count("removed Kubernetes Job steelyard-") == 2
    assert not bench.cluster.labelled(LABEL)


# Events

KILLED = """
timeline: [{at: 0s, do: kill_host, on: server}]
"""


def test_a_pod_that_an_event_deletes_is_another_in_the_next_trial(bench: Bench) -> None:
    """Three times: the workload beside it is not disturbed, and each trial has a server again."""
    bench.add(KILLED)
    process = bench.run()
    for number in (1, 2, 3):
        assert until(lambda wanted=number: bench.count("event-ended") == wanted and bench.begun() == wanted)
        bench.gate.touch()
        assert until(lambda wanted=number: bench.count("trial-ended") == wanted)
        bench.gate.unlink()
    said, _ = process.communicate()
    assert process.returncode == 0, said
    ended = [line for line in bench.journal() if line["kind"] == "trial-ended"]
    assert [line["status"] for line in ended] == ["ok"] * 3
    deleted = [each for each in bench.cluster.requests if each.startswith("DELETE") and "/pods/" in each]
    assert len(set(deleted)) == 3
    assert not bench.cluster.labelled(LABEL)


def test_who_may_not_delete_pods_learns_it_before_any_is_asked_for(bench: Bench) -> None:
    bench.add(KILLED)
    bench.cluster.behaviour.denied = {("delete", "pods"), ("patch", "pods")}
    process = bench.run()
    said, _ = process.communicate()
    assert process.returncode == 3
    assert "needs what you may not: delete pods or patch pods in namespace bench" in " ".join(said.split())
    assert not bench.begun()
    assert not bench.cluster.commands


def test_the_network_of_a_pod_is_closed_during_a_trial(bench: Bench) -> None:
    bench.add("timeline: [{at: 0s, do: cut, on: server}]\n")
    process = bench.run()
    assert until(lambda: bench.count("event-ended") == 1)
    (policy,) = bench.cluster.policies.values()
    assert policy["spec"]["egress"] == []
    bench.gate.touch()
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert not bench.cluster.labelled(LABEL)


DRAINED = """
allow: drain
timeline: [{at: 0s, do: drain, on: server, length: 1s}, {do: uncordon, on: server}]
"""


def test_a_drain_must_be_allowed(bench: Bench) -> None:
    bench.add(DRAINED.replace("allow: drain\n", ""))
    process = bench.run()
    said, _ = process.communicate()
    assert process.returncode == 2
    assert "add `allow: drain` to the file" in said
    assert not bench.cluster.requests


def test_the_node_of_a_killed_run_is_uncordoned_by_clean(bench: Bench) -> None:
    """The client is on the same node: it goes as well, and the trial fails."""
    bench.add(DRAINED.replace("1s", "1h"))
    process = bench.run()
    assert until(lambda: bench.cluster.node["spec"].get("unschedulable"))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    cleaning = bench.steelyard("clean")
    said, _ = cleaning.communicate()
    assert cleaning.returncode == 0, said
    assert "removed Kubernetes cordon of node node-1 of run " in said
    assert bench.cluster.node["spec"] == {}
    assert not bench.cluster.labelled(LABEL)


# Asked beforehand


def test_doctor_tries_each_verb(bench: Bench) -> None:
    process = bench.steelyard("doctor", "--site", "pods")
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert "site pods: nothing found that would keep a run from its hosts" in said
    bench.cluster.behaviour.denied = {("create", "pods/exec"), ("list", "events")}
    process = bench.steelyard("doctor", "--site", "pods", "--json")
    said, _ = process.communicate()
    assert json.loads(said)["site"]["obstacles"] == [
        "you may not create pods/exec in namespace bench",
        "you may not list events in namespace bench",
    ]
    assert not bench.cluster.jobs


def test_doctor_without_a_cluster(bench: Bench) -> None:
    bench.cluster.behaviour.is_away = True
    process = bench.steelyard("doctor", "--site", "pods")
    said, _ = process.communicate()
    assert process.returncode == 3
    assert "cannot be reached" in said
    assert "Traceback" not in said
