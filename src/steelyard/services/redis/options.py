"""Options of `use: redis` under `services`."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.plugin import Size
from steelyard.services.kit.tls_option import TlsOption

Policy = Literal[
    "noeviction",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "volatile-lru",
    "volatile-lfu",
    "volatile-ttl",
]


class RedisOptions(TlsOption):
    """How the servers belong together, what they keep, and how much."""

    port: int | None = Field(
        None,
        ge=1,
        le=65000,
        description="Port, the same on all hosts; a cluster also uses the next two. Default: free ones.",
    )
    cluster: bool = Field(
        False, description="One Redis Cluster of all hosts, at least 3; each stores a share of the keys."
    )
    replicas: bool = Field(
        False, description="Make the first host the primary and the others its read-only replicas."
    )
    maxmemory: Size | None = Field(
        None, description="Bytes of data on each host. Default: half of the memory it may use there."
    )
    maxmemory_policy: Policy = Field(
        "noeviction", description="The eviction policy when `maxmemory` is reached."
    )
    io_threads: int = Field(
        1, ge=1, le=128, description="Number of I/O threads on each host; see redis.conf."
    )
    save: str = Field(
        "",
        pattern=r"^(\d+ \d+( \d+ \d+)*)?$",
        description="When to write a dump: `60 1000` means after 60 s with 1000 changes. Default: never.",
    )
    appendonly: bool = Field(False, description="Log every write to a file.")
    appendfsync: Literal["always", "everysec", "no"] = Field(
        "everysec", description="When to sync that file to disk: always, everysec or no."
    )

    @model_validator(mode="after")
    def _check_topology(self) -> Self:
        if self.cluster and self.replicas:
            raise ValueError("give only one of 'cluster' and 'replicas'")
        return self
