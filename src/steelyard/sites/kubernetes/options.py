"""What people write of a cluster, its pods, and how they are used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from steelyard.plugin import Duration
from steelyard.plugin.site import SiteOptions
from steelyard.provision.kubernetes.order import (
    PodGroup,
    PodOrder,
    PodUse,
    ScratchVolume,
    is_privileged,
    parse_quantity,
)

MOST = 1000
ALL: Final = "all"
_DAY = 86400.0


def _check_quantity(text: str) -> str:
    if parse_quantity(text) <= 0:
        raise ValueError(f"{text} is not more than 0")
    return text


Quantity = Annotated[str, BeforeValidator(str), AfterValidator(_check_quantity)]
Image = Annotated[str, Field(pattern=r"^[^\s-][^\s]*$")]
Requests = dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9./-]+$")], Quantity]
Template = dict[Literal["metadata", "spec"], dict[str, Any]]
_REQUESTS = (
    "What each pod is given, by resource: {cpu: 2, memory: 4Gi}; its limits are the same; default: no limits"
)
_TEMPLATE = (
    "What is laid over the template of the pods: {spec: {nodeSelector: {disk: nvme}}}; null removes a key"
)


class RolePods(SiteOptions):
    """What is different for the pods of one role."""

    image: Image | None = Field(None, description="Image; default: that of the site")
    requests: Requests | None = Field(None, description=_REQUESTS)
    pod: Template = Field(default_factory=dict, description=_TEMPLATE)


class PodScratch(SiteOptions):
    """The volume for test data, one for each pod."""

    mount: str = Field("/scratch", pattern=r"^/[A-Za-z0-9._/-]+$", description="Where it is in the pod")
    storage_class: str | None = Field(
        None,
        min_length=1,
        description="Storage class of a claim that lives as long as its pod; default: emptyDir",
    )
    size: Quantity | None = Field(
        None, description="Size of the claim, or limit of the emptyDir, such as 10Gi"
    )

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        if self.storage_class and not self.size:
            raise ValueError("a claim needs a `size`, such as 10Gi")
        return self


class KubernetesOptions(SiteOptions):
    """Which cluster, which pods, and how patiently they are used."""

    image: Image = Field(description="Image of the pods, with `sh` and what is measured")
    hosts: int | None = Field(
        None, ge=1, le=MOST, description="Number of pods; default: as many as the roles take"
    )
    requests: Requests = Field(default_factory=dict, description=_REQUESTS)
    pod: Template = Field(default_factory=dict, description=_TEMPLATE)
    roles: dict[str, RolePods] = Field(
        default_factory=dict, description="What is different by role: {db: {image: …, requests: {cpu: 4}}}"
    )
    spread: Literal["node", "none"] = Field(
        "none", description="node: no two pods share a node; none: as the cluster's scheduler likes"
    )
    scratch: PodScratch = Field(PodScratch(), description="Volume for test data")
    kubeconfig: str | None = Field(None, description="File; default: KUBECONFIG, or ~/.kube/config")
    context: str | None = Field(None, description="Context of the kubeconfig; default: its current one")
    namespace: str | None = Field(None, description="Namespace; default: that of the context")
    within: Duration = Field(
        Duration(300.0),
        ge=1,
        le=_DAY,
        description="Time limit until all pods run; what came is then given back",
    )
    lease: Duration = Field(
        Duration(300.0), ge=10, le=_DAY, description="Time after which a pod ends that nobody renews"
    )
    at_most: Duration = Field(
        Duration(_DAY),
        ge=60,
        le=30 * _DAY,
        description="Time after which the cluster ends the pods in any case",
    )
    connect_within: Duration = Field(
        Duration(60.0), ge=1, le=3600, description="Time limit for reaching a pod whose stream broke"
    )
    lost_after: Duration = Field(
        Duration(15.0), ge=1, le=600, description="Time without an answer after which a host counts as lost"
    )

    @model_validator(mode="after")
    def _check_lease(self) -> Self:
        if self.lease < 4 * self.lost_after:
            raise ValueError(
                "`lease` must be at least four times `lost_after`: an agent outlives a broken stream"
            )
        return self

    def make_order(self, roles: Mapping[str, int | Literal["all"]], hosts: int | None) -> PodOrder:
        """What is asked for so many hosts; one of the roles may take all that the others leave."""
        fixed = sum(count for count in roles.values() if count != ALL)
        total = hosts or self.hosts or max(fixed + (ALL in roles.values()), 1)
        counts = {role: total - fixed if count == ALL else count for role, count in roles.items()}
        return PodOrder(
            tuple(self.make_group(role, count) for role, count in counts.items() if count > 0),
            ScratchVolume(self.scratch.mount, self.scratch.storage_class, self.scratch.size),
            one_per_node=self.spread == "node",
            lease=self.lease,
            begin_within=self.within,
            at_most=self.at_most,
        )

    def may_be_privileged(self) -> bool:
        """Whether the template of the site, or of any role, lets a container act on its node's kernel."""
        return any(map(is_privileged, (self.pod, *(role.pod for role in self.roles.values()))))

    def make_use(self, needs: frozenset[str] = frozenset()) -> PodUse:
        """Which cluster, how patiently it is used, and for which capabilities of the site."""
        return PodUse(
            kubeconfig=self.kubeconfig,
            context=self.context,
            namespace=self.namespace,
            within=self.within,
            connect_within=self.connect_within,
            lost_after=self.lost_after,
            needs=needs,
        )

    def list_kubectl_words(self) -> tuple[str, ...]:
        """What tells kubectl which cluster is meant; it chooses as we do where nothing is said."""
        file = str(Path(self.kubeconfig).expanduser()) if self.kubeconfig else None
        chosen = {"kubeconfig": file, "context": self.context, "namespace": self.namespace}
        return tuple(f"--{name}={value}" for name, value in chosen.items() if value)

    def make_group(self, role: str, count: int = 1) -> PodGroup:
        """The pods of a role, with what is different for it."""
        own = self.roles.get(role, RolePods())
        requests = self.requests if own.requests is None else own.requests
        return PodGroup(role, count, own.image or self.image, requests, (self.pod, own.pod))
