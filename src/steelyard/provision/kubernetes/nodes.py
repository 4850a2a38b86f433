"""Nodes that a run drains: cordoned with its label, emptied of its own pods, uncordoned again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steelyard.errors import HostError
from steelyard.provision.kubernetes.order import LABEL
from steelyard.transports.kubernetes.api import ApiServer

CORDONED_BY = "steelyard/cordoned-by"
"""An annotation of the node: which run it was."""
_NODES = "/api/v1/nodes"
_MIRROR = "kubernetes.io/config.mirror"


async def cordon(server: ApiServer, node: str, lease: str, run: str) -> None:
    """Have no more pods scheduled to a node on which no others run. Raises HostError."""
    await _refuse_others(server, node, lease)
    known = await server.get(f"{_NODES}/{node}")
    if known.get("spec", {}).get("unschedulable") and lease_of(known) != lease:
        hint = f"`kubectl uncordon {node}`, if nobody needs that any more"
        raise HostError(f"node {node} cannot be drained: somebody else has cordoned it", hint=hint)
    about = {"labels": {LABEL: lease}, "annotations": {CORDONED_BY: run}}
    await server.patch(f"{_NODES}/{node}", {"metadata": about, "spec": {"unschedulable": True}})


async def uncordon(server: ApiServer, node: str) -> None:
    """Have pods scheduled there again. Raises HostError."""
    about = {"labels": {LABEL: None}, "annotations": {CORDONED_BY: None}}
    await server.patch(f"{_NODES}/{node}", {"metadata": about, "spec": {"unschedulable": None}})


async def uncordon_all(server: ApiServer, lease: str) -> list[str]:
    """All that a lease cordoned, by their label; their names. Raises HostError."""
    nodes = await server.get(_NODES, labelSelector=f"{LABEL}={lease}")
    names = [str(node["metadata"]["name"]) for node in nodes.get("items") or ()]
    for name in names:
        await uncordon(server, name)
    return names


async def evict(server: ApiServer, pod: str) -> None:
    """Have a pod evicted, which heeds budgets of disruptions, as a drain does. Raises HostError."""
    about = {"name": pod, "namespace": server.namespace}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": about}
    await server.create(f"{server.path('pods', pod)}/eviction", body)


def lease_of(thing: Mapping[str, Any]) -> str | None:
    """The lease whose label a node or a pod bears."""
    label = (thing["metadata"].get("labels") or {}).get(LABEL)
    return None if label is None else str(label)


def list_others(pods: Iterable[Mapping[str, Any]], lease: str) -> list[str]:
    """The pods of others that a drain would evict: as for kubectl, none of DaemonSets, of the node's own
    files, and none that have ended. Pure.
    """
    return [
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        for pod in pods
        if lease_of(pod) != lease and _is_evicted(pod)
    ]


def _is_evicted(pod: Mapping[str, Any]) -> bool:
    owners = [each.get("kind") for each in pod["metadata"].get("ownerReferences") or ()]
    stays = "DaemonSet" in owners or _MIRROR in (pod["metadata"].get("annotations") or {})
    return not stays and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


async def _refuse_others(server: ApiServer, node: str, lease: str) -> None:
    pods = await server.get("/api/v1/pods", fieldSelector=f"spec.nodeName={node}")
    if others := list_others(pods.get("items") or (), lease):
        listed = ", ".join(others[:4]) + (f" and {len(others) - 4} more" if len(others) > 4 else "")
        hint = "let the site choose nodes of your own: `pod: {spec: {nodeSelector: …, tolerations: …}}`"
        raise HostError(f"node {node} cannot be drained: pods of others run there: {listed}", hint=hint)
