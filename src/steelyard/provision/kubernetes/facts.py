"""What the record says of a pod: where it runs, and what it took until it did."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from steelyard.transports.kubernetes.api import ApiServer
from steelyard.transports.kubernetes.errors import ClusterError
from steelyard.transports.kubernetes.pods import CONTAINER, read_state, seconds_between

_GLANCE = 0.2
_PULLED = re.compile(r"Successfully pulled image .* in ([0-9.]+(?:ms|s|m|h)(?:[0-9.]+(?:ms|s))?)")


async def gather_facts(server: ApiServer, name: str, *, seconds: float) -> dict[str, Any]:
    """The facts of a pod; what we may not see is left out. Raises ClusterError when there is no such pod.

    Its kubelet has so many seconds to tell that it runs; what it has not told then is left out, too.
    """
    clock = asyncio.get_running_loop().time
    deadline, pod = clock() + seconds, await server.get(server.path("pods", name))
    while not read_state(pod).is_running and clock() < deadline:
        await asyncio.sleep(_GLANCE)
        pod = await server.get(server.path("pods", name))
    events: list[dict[str, Any]] = []
    node: dict[str, Any] = {}
    with suppress(ClusterError):
        uid = pod["metadata"]["uid"]
        events = await server.list("events", fieldSelector=f"involvedObject.uid={uid}")
    with suppress(ClusterError):
        node = await server.get(f"/api/v1/nodes/{pod['spec']['nodeName']}")
    return describe_pod(pod, events, node)


def describe_pod(
    pod: Mapping[str, Any], events: Sequence[Mapping[str, Any]], node: Mapping[str, Any]
) -> dict[str, Any]:
    """Node, image, class of service; seconds until it was scheduled, and how its image came. Pure.

    Kubernetes tells times in whole seconds.
    """
    status, info = pod.get("status", {}), node.get("status", {}).get("nodeInfo", {})
    own: Mapping[str, Any] = next(
        (each for each in status.get("containerStatuses", ()) if each.get("name") == CONTAINER), {}
    )
    created = pod["metadata"].get("creationTimestamp")
    scheduled = {each.get("type"): each.get("lastTransitionTime") for each in status.get("conditions") or ()}
    facts = {
        "pod": pod["metadata"]["name"],
        "namespace": pod["metadata"].get("namespace"),
        "node": pod.get("spec", {}).get("nodeName"),
        "runtime": info.get("containerRuntimeVersion"),
        "kubelet": info.get("kubeletVersion"),
        "image": own.get("image"),
        "image_id": own.get("imageID"),
        "qos": status.get("qosClass"),
        "scheduled_after": seconds_between(created, scheduled.get("PodScheduled")),
        "started_after": seconds_between(created, own.get("state", {}).get("running", {}).get("startedAt")),
        "pull": _find_pull(events),
    }
    return {key: value for key, value in facts.items() if value not in (None, "")}


def _find_pull(events: Sequence[Mapping[str, Any]]) -> str | None:
    """How long its image took, in the kubelet's words; that it was there already."""
    for event in events:
        if event.get("reason") == "Pulled":
            match = _PULLED.search(str(event.get("message")))
            return match[1] if match else "present"
    return None
