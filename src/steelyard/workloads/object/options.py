"""What can be asked of `object`."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from steelyard.plugin import Size
from steelyard.plugin.workload import WorkloadOptions
from steelyard.workloads.kit.client import ClientOptions
from steelyard.workloads.kit.load.options import LoadOptions

_MOST = 5 * 2**30  # bytes that one request may write, by S3 and by Swift
_VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]{0,99}$"
KINDS = {
    "read": "reading an object",
    "write": "writing an object",
    "list": "listing objects of a container",
    "delete": "deleting an object",
}


class ObjectMix(WorkloadOptions):
    """Shares of operations; they are weights and need not add up to 1."""

    read: float = Field(0.0, ge=0, le=1e6, description="Read a prepared object, and check its content.")
    write: float = Field(0.0, ge=0, le=1e6, description="Write a new object.")
    list: float = Field(0.0, ge=0, le=1e6, description="List the first objects of a container.")
    delete: float = Field(
        0.0, ge=0, le=1e6, description="Delete the oldest object that this run has written; at most `write`."
    )

    @model_validator(mode="after")
    def _check_shares(self) -> Self:
        if not any((self.read, self.write, self.list, self.delete)):
            raise ValueError("a mix needs an operation with a share above 0")
        if self.delete > self.write:
            raise ValueError(
                f"delete: {self.delete:g} is more than write: {self.write:g}; only objects that the run has "
                "written are deleted, so give write at least the same share"
            )
        return self

    def kinds(self) -> dict[str, str]:
        """The operations that occur, and what they are."""
        return {name: about for name, about in KINDS.items() if getattr(self, name)}


class UniformSizes(WorkloadOptions):
    """Sizes between two limits."""

    low: Size = Field(alias="from", description="Smallest size of an object.")
    high: Size = Field(alias="to", description="Largest size of an object.")

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"from: {self.low} is more than to: {self.high}")
        return self


class SizeBand(UniformSizes):
    """A band of a histogram of sizes."""

    weight: float = Field(1.0, gt=0, le=1e6, description="Weight of this band.")


def _choose_form(value: Any) -> str:
    """So that a fault is told of the form that was meant, and of no other."""
    if isinstance(value, list | tuple):
        return "bands"
    return "limits" if isinstance(value, dict | UniformSizes) else "size"


ObjectSizes = Annotated[
    Annotated[Size, Tag("size")]
    | Annotated[UniformSizes, Tag("limits")]
    | Annotated[tuple[SizeBand, ...], Field(min_length=1, max_length=1000), Tag("bands")],
    Discriminator(_choose_form),
]


class ObjectOptions(ClientOptions, LoadOptions):
    """Which objects there are, what is done with them, how fast, and where."""

    protocol: Literal["s3", "swift"] | None = Field(
        None, description="Protocol of the server. Default: that of the service in `to:`, otherwise s3."
    )
    port: int = Field(443, ge=1, le=65535, description="The first port of `server`.")
    tls: bool = Field(
        True,
        description="Use TLS with `server`, and trust the certificate authorities of the client's system.",
    )
    user: str | None = Field(
        None,
        pattern=r"^[!-~]{1,200}$",
        description="With `server`: the access key of S3, or the user of Swift (`account:user`).",
    )
    secret_variable: str | None = Field(
        None,
        pattern=_VARIABLE,
        description="With `server`: the environment variable of the clients' hosts that holds the secret. "
        "Default: AWS_SECRET_ACCESS_KEY, or ST_KEY for swift.",
    )
    region: str = Field(
        "us-east-1", pattern=r"^[a-z0-9-]{1,32}$", description="Region that S3 requests are signed for."
    )
    auth_path: str = Field(
        "/auth/v1.0", pattern=r"^/[!-~]{0,200}$", description="Path at which Swift clients log in."
    )
    prefix: str = Field(
        "steelyard",
        pattern=r"^[a-z0-9][a-z0-9-]{0,30}$",
        description="How the names of containers begin. Each copy has containers of its own, which are "
        "created before the measurement and deleted after it.",
    )
    containers: int = Field(2, ge=1, le=1000, description="Containers (buckets) of each copy.")
    objects: int = Field(
        100, ge=1, le=10**8, description="Objects that are prepared in each container, to be read and listed."
    )
    size: ObjectSizes = Field(
        Size(4096),
        description="Size of an object: one size, `{from: 1KiB, to: 1MiB}`, or a list of such bands with a "
        "`weight` each.",
    )
    mix: ObjectMix = Field(
        ObjectMix(read=0.8, write=0.2), description="Shares of read, write, list and delete."
    )
    page: int = Field(100, ge=1, le=1000, description="Names that a listing asks for.")

    @field_validator("size")
    @classmethod
    def _check_size(cls, value: ObjectSizes) -> ObjectSizes:
        largest = max(high for _, _, high in list_bands(value))
        if largest > _MOST:
            raise ValueError("an object has at most 5 GiB, the limit of a single request")
        return value

    @model_validator(mode="after")
    def _check_access(self) -> Self:
        if self.server is not None and self.user is None:
            raise ValueError("user: `server` needs one, the access key of S3 or the user of Swift")
        if self.server is None and self.secret_variable is not None:
            raise ValueError(
                "secret_variable: only `server` needs it; a service of the run has its own secret"
            )
        return self

    @property
    def bands(self) -> tuple[tuple[float, int, int], ...]:
        """Weights, and the limits of sizes in bytes."""
        return list_bands(self.size)

    @property
    def mean_size(self) -> float:
        """Of an object, in bytes."""
        total = math.fsum(weight for weight, _, _ in self.bands)
        return math.fsum(weight * (low + high) / 2 for weight, low, high in self.bands) / total


def list_bands(size: ObjectSizes) -> tuple[tuple[float, int, int], ...]:
    """Weight, lowest and highest size of each band."""
    if isinstance(size, UniformSizes):
        return ((1.0, int(size.low), int(size.high)),)
    if isinstance(size, tuple):
        return tuple((band.weight, int(band.low), int(band.high)) for band in size)
    return ((1.0, int(size), int(size)),)
