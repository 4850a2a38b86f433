"""Pods of a Kubernetes cluster."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from steelyard.plugin import HostError, UsageError
from steelyard.plugin.host import Host
from steelyard.plugin.site import Capability, Engine, Restriction, Site
from steelyard.plugin.transport import Token
from steelyard.sites.kubernetes.engine import KubernetesEngine
from steelyard.sites.kubernetes.options import ALL, KubernetesOptions
from steelyard.transports.kubernetes.kubeconfig import read_access

RESTRICTED = Restriction(
    "its pods are not privileged, so they cannot change their node's kernel, mount, or limit processes",
    "leave it out, or lay {securityContext: {privileged: true}} over the container `main` in `pod` of the "
    "site, where the namespace allows that",
)


class Kubernetes(Site[KubernetesOptions]):
    """Pods of a Kubernetes cluster, version 1.30 or newer, that exist for one run.

    `kubernetes:4` starts four; `image` in sites.yaml names what they run, and docs/how-to/kubernetes.md
    explains how to begin. The pods of a role are one indexed Job. The image needs a POSIX shell, awk, od, dd
    and what is measured. Pods that do not all run in time are given back; they end by themselves when nobody
    renews their lease.
    """

    Options = KubernetesOptions
    examples = (
        {"image": "registry.example/tools:1", "hosts": 4, "requests": {"cpu": "2", "memory": "4Gi"}},
        {
            "image": "registry.example/tools:1",
            "spread": "node",
            "roles": {"db": {"image": "registry.example/redis:7", "requests": {"cpu": "4"}}},
            "scratch": {"storage_class": "fast", "size": "100Gi"},
        },
    )

    def __init__(self, options: KubernetesOptions) -> None:
        super().__init__(options)
        self._roles: Mapping[str, int | Literal["all"]] = {"host": ALL}
        self._needs: frozenset[str] = frozenset()
        self._ends: float | None = None

    def size(self) -> int | None:
        """As many as were asked for; None for as many as the roles take."""
        return self.options.hosts

    def note_roles(self, roles: Mapping[str, int | Literal["all"]]) -> None:
        """Each role gets a Job of its own, with its own image."""
        self._roles = roles

    def note_needs(self, capabilities: frozenset[str]) -> None:
        """Whether we may do it is asked before any pod is."""
        self._needs = capabilities

    def capabilities(self) -> frozenset[Capability]:
        """Its Job fills the place of a pod that is deleted; whether networks can be closed is tried later."""
        return frozenset({"kill-hosts", "cut-network", "part-network", "drain-nodes"})

    async def fetch_seconds_left(self) -> float | None:
        """Until the cluster ends the pods."""
        return None if self._ends is None else self._ends - time.monotonic()

    def find_restriction(self) -> Restriction | None:
        """Root in a pod may act on the node's kernel only where a template makes it privileged."""
        return None if self.options.may_be_privileged() else RESTRICTED

    def engine(self) -> Engine:
        """kubectl, with the options of this site that say which cluster, and its image for the jobs."""
        group, mount = self.options.make_group("job"), self.options.scratch.mount
        return KubernetesEngine(group, mount, self.options.list_kubectl_words())

    def warnings(self) -> tuple[str, ...]:
        """That anybody may answer as the API server, where the kubeconfig says so; roles that nobody has."""
        said = [
            f"site kubernetes: no role is called '{role}'"
            for role in self.options.roles
            if role not in self._roles
        ]
        with suppress(UsageError):
            if read_access(self.options.kubeconfig, self.options.context).cluster.insecure_skip_tls_verify:
                said.append("site kubernetes: insecure-skip-tls-verify trusts any server that answers")
        return tuple(said)

    async def find_obstacles(self) -> list[str]:
        """Each verb of the least Role, and the Jobs as they would be asked for."""
        _require_aiohttp()
        from steelyard.provision.kubernetes.hosts import check_access

        return await check_access(self.options.make_order(self._roles, None), self.options.make_use())

    def lease(
        self, token: Token, log: Path, hosts: int | None
    ) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """Pods that are started now and removed at the end of the block."""
        _require_aiohttp()
        from steelyard.provision.kubernetes.hosts import lease_pods

        order = self.options.make_order(self._roles, hosts)
        self._ends = time.monotonic() + self.options.at_most
        return lease_pods(order, self.options.make_use(self._needs), token, log)


def _require_aiohttp() -> None:
    """Make sure that it is installed; what needs it is imported by a run only. Raises HostError."""
    if find_spec("aiohttp") is None:
        hint = "run `pip install steelyard[kubernetes]`"
        raise HostError("site kubernetes needs the Python package aiohttp, which is not installed", hint=hint)
