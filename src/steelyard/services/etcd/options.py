"""Options of `use: etcd` under `services`."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from steelyard.plugin import Duration, Size
from steelyard.plugin.service import ServiceOptions

_SHORTEST, _LONGEST = 0.01, 50.0  # seconds; etcd refuses an election timeout of more
_LEAST_HEARTBEATS = 5  # in an election timeout, or etcd refuses to start


class EtcdOptions(ServiceOptions):
    """Where the members listen, how soon they miss their leader, and how safe a write is."""

    port: int | None = Field(
        None,
        ge=1,
        le=65000,
        description="Port for clients, the same on all hosts; members use the next one among themselves. "
        "Default: free ones.",
    )
    quota: Size = Field(
        Size(2 * 2**30), description="Maximum size of the database in bytes; beyond it, writes are rejected."
    )
    heartbeat: Duration = Field(
        Duration(0.1), description="Interval between heartbeats of the leader, in whole milliseconds."
    )
    election_timeout: Duration = Field(
        Duration(1.0),
        description="Time without a heartbeat after which members elect a new leader: at least five "
        "heartbeats, at most 50 s.",
    )
    keep_revisions: int | None = Field(
        None,
        ge=1,
        le=10**12,
        description="Number of revisions to keep; older values of keys are removed every 5 minutes. Default: "
        "all, so that every write makes the database larger.",
    )
    fsync: bool = Field(True, description="Sync writes to disk; without this, a host crash loses data.")

    @model_validator(mode="after")
    def _check_times(self) -> Self:
        if self.heartbeat < _SHORTEST:
            raise ValueError(f"heartbeat: {self.heartbeat} is less than 10 ms")
        if not _LEAST_HEARTBEATS * self.heartbeat <= self.election_timeout <= _LONGEST:
            range_ = f"from {_LEAST_HEARTBEATS} heartbeats to {_LONGEST:g} s"
            raise ValueError(
                f"election_timeout: {self.election_timeout} is out of range: give a time {range_}"
            )
        if not 2**20 <= self.quota <= 2**40:
            raise ValueError(f"quota: {self.quota} is less than 1 MiB or more than 1 TiB")
        return self
