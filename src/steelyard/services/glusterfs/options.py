"""Options of `use: glusterfs` under `services`."""

from __future__ import annotations

from typing import Self

from pydantic import Field, field_validator, model_validator

from steelyard.plugin import Duration, Size
from steelyard.plugin.service import ServiceOptions

_LEAST_SHARD = 4 * 2**20  # bytes; GlusterFS takes no less
_MOST_SHARD = 4 * 2**40


class GlusterfsOptions(ServiceOptions):
    """How files are laid over the bricks."""

    bricks: int = Field(1, ge=1, le=16, description="Number of bricks on each host.")
    replicas: int = Field(
        1,
        ge=1,
        le=9,
        description="Number of copies of each file, on different hosts; 1 distributes files without copies.",
    )
    data: int | None = Field(
        None,
        ge=2,
        le=16,
        description="Disperse each file by erasure coding over this many bricks of data, and "
        "`redundancy` more.",
    )
    redundancy: int = Field(
        1, ge=1, le=8, description="With `data`: number of bricks of each set that may be lost."
    )
    shard: Size | None = Field(
        None,
        description="Size in bytes of the pieces into which files are cut, from 4 MiB to 4 TiB. Default: "
        "files stay whole.",
    )
    ping_timeout: Duration = Field(
        Duration(42.0),
        ge=1,
        le=600,
        description="How long clients wait for a server that does not answer, in whole seconds.",
    )
    rebalance: bool = Field(
        True, description="After growing, move files so that new bricks have their share."
    )

    @property
    def set_size(self) -> int:
        """Number of bricks that hold a file, or a part of it, together."""
        return self.data + self.redundancy if self.data else self.replicas

    @field_validator("shard")
    @classmethod
    def _check_shard(cls, value: Size | None) -> Size | None:
        if value is not None and not _LEAST_SHARD <= value <= _MOST_SHARD:
            raise ValueError(f"{value} is less than 4 MiB or more than 4 TiB")
        return value

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if self.data is None and "redundancy" in self.model_fields_set:
            raise ValueError("redundancy: give `data`, too: the number of bricks of data")
        if self.data is not None and self.replicas > 1:
            raise ValueError("give only one of `replicas` and `data`")
        if self.data is not None and self.data <= self.redundancy:
            raise ValueError(f"redundancy: {self.redundancy} must be less than `data`, which is {self.data}")
        return self
