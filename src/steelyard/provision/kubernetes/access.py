"""Whether a cluster lets us do what a run needs, asked before any run: each verb of the least Role."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from steelyard.errors import HostError, SteelyardError
from steelyard.provision.kubernetes.order import PodOrder, build_first_pod, build_job
from steelyard.provision.kubernetes.waiting import JOBS
from steelyard.transports.kubernetes.api import ApiServer
from steelyard.transports.kubernetes.errors import ClusterError

ROLES = Path(__file__).with_name("roles")
LEAST = "least"
_OF_CAPABILITIES = {
    "kill-hosts": ("kill-hosts",),
    "cut-network": ("network-policies",),
    "part-network": ("network-policies",),
    "drain-nodes": ("drain-nodes", "evict-pods"),
}
_DRY_RUN = {"dryRun": "All", "fieldValidation": "Strict"}
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Permission(NamedTuple):
    """A verb on a resource of an API group; `pods/exec` has a part after the slash."""

    group: str
    resource: str
    verb: str
    is_everywhere: bool = False

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{' in all namespaces' if self.is_everywhere else ''}"


def role_path(name: str) -> Path:
    """Where a Role stands: `least`, or what events need beside it."""
    return ROLES / f"{name}.yaml"


def read_role(name: str) -> Iterator[Permission]:
    """What a Role allows."""
    role = YAML(typ="safe", pure=True).load(role_path(name).read_text("utf-8"))
    for rule in role["rules"]:
        for group, resource, verb in product(rule["apiGroups"], rule["resources"], rule["verbs"]):
            yield Permission(group, resource, verb, role["kind"] == "ClusterRole")


async def find_obstacles(server: ApiServer, order: PodOrder) -> list[str]:
    """What speaks against a run there, in sentences; nothing where all is well."""
    try:
        if denied := await find_denied(server, LEAST):
            return [f"you may not {each} in namespace {server.namespace}" for each in denied]
        await check_order(server, order)
    except SteelyardError as error:
        return [f"{error.message}; {error.hint}"]
    return []


async def check_capabilities(server: ApiServer, needs: Iterable[str]) -> None:
    """Whether we may do what events need, by capabilities of the site. Raises HostError."""
    for role in sorted({role for capability in needs for role in _OF_CAPABILITIES.get(capability, ())}):
        if denied := await find_denied(server, role):
            what = " or ".join(map(str, denied))
            hint = f"docs/how-to/kubernetes.md has the Role for it, {role}.yaml"
            raise HostError(
                f"an event of the timeline needs what you may not: {what} in namespace {server.namespace}",
                hint=hint,
            )


async def find_denied(server: ApiServer, role: str) -> list[Permission]:
    """What a Role allows and we may not. Raises SteelyardError."""
    wanted = list(read_role(role))
    allowed = await asyncio.gather(*(_may(server, each) for each in wanted))
    return [each for each, may in zip(wanted, allowed, strict=True) if not may]


async def _may(server: ApiServer, asked: Permission) -> bool:
    resource, _, part = asked.resource.partition("/")
    attributes = {
        "namespace": "" if asked.is_everywhere else server.namespace,
        "group": asked.group,
        "resource": resource,
        "verb": asked.verb,
    }
    review = {"spec": {"resourceAttributes": attributes | ({"subresource": part} if part else {})}}
    answer = await server.create(_REVIEWS, review)
    status: Mapping[str, Any] = answer.get("status") or {}
    return bool(status.get("allowed"))


async def check_order(server: ApiServer, order: PodOrder) -> None:
    """Have the API server check what is asked for without starting any of it. Raises HostError.

    Jobs: a namespace, a key of `pod`; and a pod of each, as Pod Security, quotas and many policies look at
    pods only, and a Job that may exist is no sign that its pods may.
    """
    for group in order.groups:
        job = build_job(order, group, "00000000", "check")
        try:
            known = await server.create(server.path(JOBS), job, **_DRY_RUN)
            pod = build_first_pod(job, str(known["metadata"]["uid"]))
            await server.create(server.path("pods"), pod, **_DRY_RUN)
        except ClusterError as error:
            message = f"role {group.role}: {error.message}; nothing was started"
            raise HostError(message, hint=error.hint) from error
