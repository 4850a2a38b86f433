"""What the record says of a pod, from what a real API server says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.provision.kubernetes.facts import describe_pod

DATA = Path(__file__).parents[2] / "data" / "kubernetes"


def recorded(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text())


def test_a_pod_with_its_events_and_its_node() -> None:
    facts = describe_pod(recorded("pod"), recorded("events")["items"], recorded("node"))
    assert facts == {
        "pod": "steelyard-4d134ce3-client-0-l4h79",
        "namespace": "bench",
        "node": "localhost",
        "runtime": "containerd://1.6.20",
        "kubelet": "v1.34.4",
        "image": "docker.io/library/tools:1",
        "image_id": facts["image_id"],
        "qos": "Guaranteed",
        "scheduled_after": 0.0,
        "started_after": 0.0,
        "pull": "present",
    }


def test_what_we_may_not_see_is_left_out() -> None:
    facts = describe_pod(recorded("pod"), (), {})
    assert not facts.keys() & {"runtime", "kubelet", "pull"}
    assert facts["node"] == "localhost"
    assert describe_pod({"metadata": {"name": "p"}}, (), {}) == {"pod": "p"}


@pytest.mark.parametrize(
    ("message", "pull"),
    [
        (
            'Successfully pulled image "x:1" in 1.512s (1.512s including waiting). Image size: 3 bytes.',
            "1.512s",
        ),
        ('Successfully pulled image "x:1" in 1m3.2s (2m including waiting)', "1m3.2s"),
        ('Container image "x:1" already present on machine', "present"),
    ],
)
def test_how_its_image_came(message: str, pull: str) -> None:
    events = [{"reason": "Scheduled"}, {"reason": "Pulled", "message": message}]
    assert describe_pod({"metadata": {"name": "p"}}, events, {})["pull"] == pull
