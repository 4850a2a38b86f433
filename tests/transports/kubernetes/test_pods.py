"""Whether a pod runs, and if not, why."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.transports.kubernetes.pods import newest, read_state, seconds_between

RECORDED = json.loads((Path(__file__).parents[2] / "data" / "kubernetes" / "pod.json").read_text())


def changed(**status: Any) -> dict[str, Any]:
    """The recorded pod, which ran, with another status."""
    pod = copy.deepcopy(RECORDED)
    pod["status"] = {"phase": "Pending", **status}
    return pod


def container(**state: Any) -> dict[str, Any]:
    return {
        "containerStatuses": [{"name": "sidecar", "state": {"running": {}}}, {"name": "main", "state": state}]
    }


def test_one_that_runs() -> None:
    state = read_state(RECORDED)
    assert state.is_running
    assert state.address.startswith("10.231.0.")
    assert (state.place, state.reason) == (0, "")


def test_one_that_is_being_deleted_runs_no_more() -> None:
    pod = copy.deepcopy(RECORDED)
    pod["metadata"]["deletionTimestamp"] = "2026-11-25T20:54:00Z"
    assert not read_state(pod).is_running
    assert read_state(pod).reason == "Terminating"


UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/1 nodes are available: 1 Insufficient cpu.",
}
DRAINED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API",
}


@pytest.mark.parametrize(
    ("status", "says", "hopeless"),
    [
        ({"conditions": [UNSCHEDULABLE]}, "no node has room for it (Unschedulable: 0/1 nodes", False),
        (container(waiting={"reason": "ImagePullBackOff", "message": "Back-off"}), "cannot be pulled", False),
        (container(waiting={"reason": "InvalidImageName"}), "name of its image is malformed", True),
        (
            container(waiting={"reason": "CreateContainerConfigError", "message": "root"}),
            "be configured",
            True,
        ),
        (
            container(terminated={"reason": "StartError", "exitCode": 128, "message": "sh: no"}),
            "have `sh`",
            True,
        ),
        (container(terminated={"reason": "OOMKilled", "exitCode": 0}), "ran out of memory", False),
        (container(terminated={"reason": "Completed", "exitCode": 0}), "(Completed: exit code 0)", False),
        (
            {"phase": "Failed", "reason": "Evicted", "message": "low on memory"},
            "it was evicted (Evicted: low",
            False,
        ),
        ({"phase": "Failed", "conditions": [DRAINED]}, "as when its node is drained", False),
        ({"phase": "Unknown"}, "it does not run (Unknown)", False),
    ],
)
def test_one_that_does_not(status: dict[str, Any], says: str, hopeless: bool) -> None:
    state = read_state(changed(**status))
    assert not state.is_running
    assert says in state.explain()
    assert state.is_hopeless is hopeless


@pytest.mark.parametrize(
    ("status", "node", "is_starting"),
    [
        ({}, "", False),
        ({}, "node-1", True),
        (container(waiting={"reason": "ContainerCreating"}), "node-1", True),
        (container(waiting={"reason": "PodInitializing"}), "node-1", False),
        (container(waiting={"reason": "ImagePullBackOff"}), "node-1", False),
        (container(terminated={"reason": "Completed", "exitCode": 0}), "node-1", False),
        ({"podIP": "10.0.0.1", **container(running={"startedAt": "now"})}, "node-1", False),
    ],
)
def test_one_that_may_run_already(status: dict[str, Any], node: str, is_starting: bool) -> None:
    pod = changed(**status)
    pod["spec"]["nodeName"] = node
    assert read_state(pod).is_starting is is_starting


def test_of_the_pods_of_a_place_the_one_that_runs_else_the_newest() -> None:
    failed, later = changed(phase="Failed"), changed(phase="Pending")
    failed["metadata"]["creationTimestamp"] = "2026-11-25T20:50:00Z"
    later["metadata"] |= {"creationTimestamp": "2026-11-25T20:59:00Z", "name": "later"}
    assert newest([later, failed])[0].name == "later"
    assert newest([later, RECORDED, failed])[0].name == RECORDED["metadata"]["name"]


def test_times() -> None:
    assert seconds_between("2026-11-25T20:50:00Z", "2026-11-25T20:50:03Z") == 3
    assert seconds_between(None, "2026-11-25T20:50:03Z") is None
