"""What a run asks a cluster for, and the Job that Kubernetes is asked for in its name. Pure."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from steelyard.provision.kubernetes.early import ADDRESS
from steelyard.provision.kubernetes.restricted import build_container, build_pod

LABEL = "steelyard/lease"
"""Everything that was asked for bears it: by its value whatever is left of a lease is found again."""
TIME_TO_LIVE = 60
"""Seconds after its end for which a Job stays, so that somebody may look at it."""
SLICES = 10


@dataclass(frozen=True, slots=True)
class PodGroup:
    """The pods of a role, all alike: `requests` by resource; `templates` are laid over that of the pods."""

    role: str
    count: int
    image: str
    requests: Mapping[str, str] = field(default_factory=dict)
    templates: tuple[Mapping[Any, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ScratchVolume:
    """Where test data go: a claim of a `storage_class`, which lives as long as its pod, or an emptyDir."""

    mount: str = "/scratch"
    storage_class: str | None = None
    size: str | None = None

    def __str__(self) -> str:
        limit = f" of {self.size}" if self.size else ""
        return f"claim of class {self.storage_class}{limit}" if self.storage_class else f"emptyDir{limit}"


@dataclass(frozen=True, slots=True)
class PodOrder:
    """Pods by role, in the order of the hosts.

    `one_per_node` lets no two of them share a node. A pod ends `lease` seconds after it was last renewed, for
    the first time within so many seconds `begin_within`; a Job ends `at_most` seconds after its start.
    """

    groups: tuple[PodGroup, ...]
    scratch: ScratchVolume = ScratchVolume()
    one_per_node: bool = False
    lease: float = 300.0
    begin_within: float = 300.0
    at_most: float = 86400.0
    time_to_live: int = TIME_TO_LIVE


@dataclass(frozen=True, slots=True)
class PodUse:
    """Which cluster, and how patiently its pods are used; None: as kubectl chooses. All times in seconds.

    `within` bounds how long all pods may take to run, `connect_within` how long one that is away is
    waited for; after `lost_after` without an answer a host is lost. `needs` are the capabilities of the site
    that events of the run need.
    """

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    within: float = 300.0
    connect_within: float = 60.0
    lost_after: float = 15.0
    needs: frozenset[str] = frozenset()


def job_name(lease: str, role: str) -> str:
    """What the Job of a role is called: a DNS label, with room for the names of its pods.

    A role whose name is none gets some digits as well, so that `Db_1` and `db-1` are two.
    """
    word = re.sub("[^a-z0-9]+", "-", role.lower()).strip("-")[:20]
    digits = "" if word == role else f"-{hashlib.sha256(role.encode()).hexdigest()[:4]}"
    return f"steelyard-{lease}-{word or 'role'}{digits}"


def build_job(order: PodOrder, group: PodGroup, lease: str, run: str) -> dict[str, Any]:
    """The Job whose pods are the hosts of a role.

    Its back-off is one that no run reaches: a pod that somebody deletes is to be made anew.
    """
    template = reduce(merge, group.templates, {"metadata": {}, "spec": _build_pod(order, group, lease)})
    labels = {**template["metadata"].get("labels", {}), LABEL: lease}
    template["metadata"] |= {"labels": labels}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(lease, group.role),
            "labels": labels,  # those of queues are looked for on the Job
            "annotations": {"steelyard/run": run, "steelyard/role": group.role},
        },
        "spec": {
            "completionMode": "Indexed",
            "completions": group.count,
            "parallelism": group.count,
            "backoffLimit": 1000,
            "activeDeadlineSeconds": round(order.at_most),
            "ttlSecondsAfterFinished": order.time_to_live,
            "template": template,
        },
    }


def build_first_pod(job: Mapping[str, Any], uid: str) -> dict[str, Any]:
    """A pod as the Job controller would make it for the Job of this uid: what policies and quotas look at."""
    template, name = job["spec"]["template"], job["metadata"]["name"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
    metadata = {**template["metadata"], "generateName": f"{name}-0-", "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _build_pod(order: PodOrder, group: PodGroup, lease: str) -> dict[str, Any]:
    """A pod whose process 1 watches over its lease."""
    mount, seconds = order.scratch.mount, math.ceil(order.lease / SLICES)
    first = math.ceil((order.begin_within + order.lease) / seconds)
    watch = Path(__file__).with_name("watcher.sh").read_text("utf-8")
    words = ("sh", "-c", watch, "sh", mount, *map(str, (first, SLICES, seconds)))
    variables = {"HOME": f"{mount}/home", "TMPDIR": f"{mount}/tmp"}  # noqa: S108 - a place of its own
    container = build_container(group.image, words, group.requests, mount, variables)
    container["env"].append(ADDRESS)
    pod = build_pod(container, _build_volume(order.scratch, lease))
    if order.one_per_node:
        ours = {"matchLabels": {LABEL: lease}}
        apart = [{"labelSelector": ours, "topologyKey": "kubernetes.io/hostname"}]
        pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": apart}}
    return pod


def _build_volume(scratch: ScratchVolume, lease: str) -> dict[str, Any]:
    if scratch.storage_class is None:
        return {"emptyDir": {"sizeLimit": scratch.size} if scratch.size else {}}
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": scratch.storage_class,
        "resources": {"requests": {"storage": scratch.size}},
    }
    return {"ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {LABEL: lease}}, "spec": claim}}}


def merge(base: Any, over: Any) -> Any:
    """`over` laid over `base`: mappings by key, null removes (RFC 7386), named entries of lists by name."""
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        kept = {key: value for key, value in base.items() if key not in over}
        laid = {key: merge(base.get(key), value) for key, value in over.items() if value is not None}
        return {**kept, **laid}
    if _are_named(base) and _are_named(over):
        named = {each["name"]: each for each in over}
        first = [merge(each, named.pop(each["name"], {})) for each in base]
        return [*first, *named.values()]
    return over


def is_privileged(template: Mapping[Any, Any]) -> bool:
    """Whether some container of it may act on its node's kernel."""
    containers = _as_mapping(template.get("spec")).get("containers")
    for container in containers if isinstance(containers, Sequence) else ():
        context = _as_mapping(_as_mapping(container).get("securityContext"))
        added = _as_mapping(context.get("capabilities")).get("add")
        if context.get("privileged") is True or "SYS_ADMIN" in (added or ()):
            return True
    return False


def _as_mapping(value: Any) -> Mapping[Any, Any]:
    """What people wrote, or nothing where the API server will refuse it."""
    return value if isinstance(value, Mapping) else {}


def _are_named(entries: Any) -> bool:
    return isinstance(entries, Sequence) and all(
        isinstance(each, Mapping) and "name" in each for each in entries
    )


_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([mkMGTPE]?|[KMGTPE]i)")
_FACTORS = {"": 1.0, "m": 1e-3, "k": 1e3, **{word: 1000.0**n for n, word in enumerate("MGTPE", 2)}}
_FACTORS |= {f"{word}i": 1024.0**n for n, word in enumerate("KMGTPE", 1)}


def parse_quantity(text: str) -> float:
    """A quantity as Kubernetes writes it: `500m`, `2`, `4Gi`. Raises ValueError with an example."""
    match = _QUANTITY.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r:.40} is not a quantity, for example 2, 500m or 4Gi")
    return float(match[1]) * _FACTORS[match[2]]
