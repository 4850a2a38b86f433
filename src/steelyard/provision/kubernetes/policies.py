"""What closes a pod's network: one NetworkPolicy for each pod that is cut off or parted from others. Pure.

Policies only ever allow, and what any of them allows passes: so there is one of ours to a pod, which says all
that it may still reach and be reached by. Source: kubernetes.io, "Network Policies".
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from steelyard.provision.kubernetes.order import LABEL
from steelyard.transports.kubernetes.transport import INDEX_LABEL, JOB_LABEL, PodPlace

POLICIES = "networking.k8s.io/v1/networkpolicies"
_EVERYWHERE = {4: "0.0.0.0/0", 6: "::/0"}


def policy_name(place: PodPlace) -> str:
    """That of the policy of a place in a Job."""
    return f"{place.job}-{place.index}"


def build_policy(place: PodPlace, job: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """The policy of a place in a Job, which owns it: it goes with the Job, whoever is there to remove it."""
    about = job["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": place.job, "uid": about["uid"]}
    labels = {LABEL: about["labels"][LABEL]}
    metadata = {"name": policy_name(place), "labels": labels, "ownerReferences": [owner]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata,
        "spec": spec,
    }


def close_all(place: PodPlace) -> dict[str, Any]:
    """Nothing reaches the pod of a place, nothing leaves it."""
    return _close(place, [], [])


def close_to(place: PodPlace, others: Mapping[PodPlace, str], namespace: str) -> dict[str, Any]:
    """Everybody may talk with the pod of a place but those of other places, which have these addresses."""
    allowed = _list_allowed(others, namespace)
    return _close(place, [{"from": allowed}], [{"to": allowed}])


def _close(place: PodPlace, ingress: list[Any], egress: list[Any]) -> dict[str, Any]:
    chosen = {"matchLabels": {JOB_LABEL: place.job, INDEX_LABEL: str(place.index)}}
    types = ["Ingress", "Egress"]
    return {"podSelector": chosen, "policyTypes": types, "ingress": ingress, "egress": egress}


def _list_allowed(others: Mapping[PodPlace, str], namespace: str) -> list[dict[str, Any]]:
    """All pods but these, and all addresses but theirs: networks differ in whether pods are addresses."""
    indices: dict[str, list[str]] = {}
    for place in others:
        indices.setdefault(place.job, []).append(str(place.index))
    pods = [_but(JOB_LABEL, sorted(indices))]
    pods += [{**_but(INDEX_LABEL, of), "matchLabels": {JOB_LABEL: job}} for job, of in indices.items()]
    elsewhere = {"namespaceSelector": _but("kubernetes.io/metadata.name", [namespace])}
    return [*({"podSelector": each} for each in pods), elsewhere, *_list_blocks(list(others.values()))]


def _but(key: str, values: list[str]) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "NotIn", "values": values}]}


def _list_blocks(addresses: list[str]) -> list[dict[str, Any]]:
    parsed = sorted((ip_address(each) for each in addresses), key=lambda one: (one.version, int(one)))
    excepted: dict[int, list[str]] = {4: [], 6: []}
    for address in parsed:
        excepted[address.version].append(f"{address}/{address.max_prefixlen}")
    return [
        {"ipBlock": {"cidr": everywhere, **({"except": excepted[version]} if excepted[version] else {})}}
        for version, everywhere in _EVERYWHERE.items()
    ]
