"""The Job that is asked for: restricted, owned whole by one object, and as the user's template has it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from steelyard.provision.kubernetes import order
from steelyard.provision.kubernetes.order import (
    LABEL,
    PodGroup,
    PodOrder,
    ScratchVolume,
    build_first_pod,
    build_job,
    is_privileged,
    job_name,
    merge,
    parse_quantity,
)


def pod(*templates: dict[str, Any], **order: Any) -> dict[str, Any]:
    group = PodGroup("db", 2, "redis:7", {"cpu": "2", "memory": "1Gi"}, templates)
    spec: dict[str, Any] = build_job(PodOrder((group,), **order), group, "0123abcd", "run-1")["spec"]
    return spec["template"]["spec"]


def test_a_job_that_ends_by_itself_and_owns_everything() -> None:
    group = PodGroup("db", 2, "redis:7")
    job = build_job(PodOrder((group,), at_most=7200), group, "0123abcd", "run-1")
    assert job["metadata"]["name"] == "steelyard-0123abcd-db"
    assert job["metadata"]["labels"] == {LABEL: "0123abcd"} == job["spec"]["template"]["metadata"]["labels"]
    spec = job["spec"]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (2, 2, "Indexed")
    assert (spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]) == (7200, 60)


def test_what_restricted_demands() -> None:
    """Source: kubernetes.io, "Pod Security Standards", Restricted."""
    spec = pod()
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["automountServiceAccountToken"] is False
    assert not spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}


def test_the_kubelet_gives_the_watcher_as_it_was_written() -> None:
    """It takes `$$` for `$`, and replaces `$(NAME)`. Source: the Kubernetes API, Container.command."""
    written = Path(order.__file__).with_name("watcher.sh").read_text()
    given = pod()["containers"][0]["command"][2]
    assert re.sub(r"\$\$", "", given).count("$") == 0
    assert given.replace("$$", "$") == written


def test_limits_are_what_is_requested() -> None:
    assert pod()["containers"][0]["resources"] == {
        "requests": {"cpu": "2", "memory": "1Gi"},
        "limits": {"cpu": "2", "memory": "1Gi"},
    }


def test_an_empty_directory_or_a_claim_that_goes_with_its_pod() -> None:
    assert pod()["volumes"] == [{"name": "scratch", "emptyDir": {}}]
    limited = ScratchVolume(size="1Gi")
    assert pod(scratch=limited)["volumes"][0]["emptyDir"] == {"sizeLimit": "1Gi"}
    claimed = ScratchVolume("/data", "fast", "10Gi")
    (volume,) = pod(scratch=claimed)["volumes"]
    template = volume["ephemeral"]["volumeClaimTemplate"]
    assert template["metadata"]["labels"] == {LABEL: "0123abcd"}
    assert template["spec"]["storageClassName"] == "fast"
    assert template["spec"]["resources"] == {"requests": {"storage": "10Gi"}}
    assert pod(scratch=claimed)["containers"][0]["volumeMounts"] == [
        {"name": "scratch", "mountPath": "/data"}
    ]
    assert [str(each) for each in (ScratchVolume(), limited, claimed)] == [
        "emptyDir",
        "emptyDir of 1Gi",
        "claim of class fast of 10Gi",
    ]


def test_one_pod_per_node() -> None:
    assert "affinity" not in pod()
    (rule,) = pod(one_per_node=True)["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    assert rule["labelSelector"] == {"matchLabels": {LABEL: "0123abcd"}}


def test_the_site_s_template_then_the_role_s() -> None:
    spec = pod(
        {"spec": {"nodeSelector": {"disk": "nvme", "zone": "a"}, "securityContext": {"runAsUser": None}}},
        {"spec": {"nodeSelector": {"zone": None}, "containers": [{"name": "main", "stdin": True}]}},
    )
    assert spec["nodeSelector"] == {"disk": "nvme"}
    assert "runAsUser" not in spec["securityContext"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    (container,) = spec["containers"]
    assert (container["stdin"], container["image"]) == (True, "redis:7")


def test_a_queue_s_label_stands_on_the_job_and_ours_cannot_be_taken_off() -> None:
    queue = {"kueue.x-k8s.io/queue-name": "team"}
    group = PodGroup("db", 1, "redis:7", {}, ({"metadata": {"labels": {**queue, LABEL: "other"}}},))
    job = build_job(PodOrder((group,)), group, "0123abcd", "run-1")
    assert job["metadata"]["labels"] == {**queue, LABEL: "0123abcd"}
    assert job["spec"]["template"]["metadata"]["labels"] == {**queue, LABEL: "0123abcd"}


@pytest.mark.parametrize("role", ["client", "Load_Generator", "x" * 80, "__"])
def test_names_are_labels_with_room_for_those_of_the_pods(role: str) -> None:
    name = job_name("0123abcd", role)
    assert len(f"{name}-1000-abcde") <= 63
    assert name.replace("-", "").isalnum()
    assert name == name.lower().strip("-")


def test_each_role_has_a_job_of_its_own() -> None:
    roles = ("db_1", "Db_1", "dB_1", "a" * 30, "a" * 31, "__")
    assert len({job_name("0123abcd", role) for role in roles}) == len(roles)


@pytest.mark.parametrize(
    ("base", "over", "merged"),
    [
        ({"a": 1, "b": {"c": 2}}, {"b": {"d": 3}}, {"a": 1, "b": {"c": 2, "d": 3}}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
        ([{"name": "x", "v": 1}], [{"name": "y"}], [{"name": "x", "v": 1}, {"name": "y"}]),
        ([{"name": "x", "v": 1}], [{"name": "x", "v": 2}], [{"name": "x", "v": 2}]),
        ({"a": {"b": 1}}, {"a": 5}, {"a": 5}),
        ({}, {"a": {"b": None}}, {"a": {"b": None}}),
    ],
)
def test_merging(base: Any, over: Any, merged: Any) -> None:
    assert merge(base, over) == merged


@pytest.mark.parametrize(
    ("text", "value"),
    [("2", 2), ("500m", 0.5), ("0.5", 0.5), ("4Gi", 4 << 30), ("1k", 1000), ("3M", 3e6), ("1Ki", 1024)],
)
def test_quantities(text: str, value: float) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", ["", "many", "4 Gi", "4GiB", "-1", "1e3x"])
def test_no_quantities(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity, for example"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        (None, False),
        ({"runAsUser": 0}, False),
        ({"privileged": True}, True),
        ({"privileged": False, "capabilities": {"add": ["NET_RAW"]}}, False),
        ({"capabilities": {"add": ["SYS_ADMIN"]}}, True),
        ({"capabilities": {"drop": ["ALL"]}}, False),
        ("nonsense", False),
    ],
)
def test_who_may_act_on_the_kernel_of_the_node(context: Any, expected: bool) -> None:
    containers = ["nonsense", {"name": "main", "securityContext": context}]
    assert is_privileged({"spec": {"containers": containers}}) is expected
    assert not is_privileged({"spec": None})


def test_the_pod_that_is_checked_is_the_first_of_the_job() -> None:
    group = PodGroup("db", 2, "redis:7")
    job = build_job(PodOrder((group,)), group, "0123abcd", "run-1")
    pod = build_first_pod(job, "uid-1")
    assert pod["spec"] == job["spec"]["template"]["spec"]
    assert pod["metadata"]["labels"] == {LABEL: "0123abcd"}
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Job", job["metadata"]["name"], True)
