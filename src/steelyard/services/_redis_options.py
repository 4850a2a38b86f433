"""Options of `use: redis` under `services`."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.services._tls_option import TlsOption
from steelyard.units import Size

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
        description="Port, the same on all hosts; the next two are a cluster's. Default: free ones.",
    )
    cluster: bool = Field(
        False, description="One Redis Cluster of all hosts, at least 3; each holds a share of the keys."
    )
    replicas: bool = Field(
        False, description="The first host is the primary, the others are its replicas, which are read only."
    )
    maxmemory: Size | None = Field(
        None, description="Bytes of data on each host. Default: half of the memory it may use there."
    )
    maxmemory_policy: Policy = Field("noeviction", description="What is given up when that is full.")
    io_threads: int = Field(1, ge=1, le=128, description="Threads for sockets on each host; see redis.conf.")
    save: str = Field(
        "",
        pattern=r"^(\d+ \d+( \d+ \d+)*)?$",
        description="When to write a dump: `60 1000` is after 60 s with 1000 changes. Default: never.",
    )
    appendonly: bool = Field(False, description="Log every write to a file.")
    appendfsync: Literal["always", "everysec", "no"] = Field(
        "everysec", description="When that file is synced to disk: always, everysec or no."
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.cluster and self.replicas:
            raise ValueError("cluster and replicas: choose one")
        return self
