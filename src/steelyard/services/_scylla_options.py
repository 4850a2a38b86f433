"""What can be chosen of a ring of ScyllaDB."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from steelyard.services._scylla_config import refused, refused_flag
from steelyard.services.base import ServiceOptions
from steelyard.units import Duration, Size

_NAME = r"^[a-zA-Z][a-zA-Z0-9_]{0,47}$"


class ScyllaOptions(ServiceOptions):
    """The ring, its nodes, and what they take of their hosts."""

    replication: int | None = Field(
        None, ge=1, le=16, description="Copies of each row. Default: 3, or the number of nodes."
    )
    smp: int | None = Field(
        None,
        ge=1,
        le=256,
        description="Shards of a node, a core each. Default: the cores it may use, not more than its GiB.",
    )
    memory: Size | None = Field(
        None, description="Memory of a node. Default: three quarters of what it may use of its host."
    )
    alone: bool = Field(
        False, description="Nothing else uses its hosts' cores, so it may pin its threads and poll."
    )
    developer_mode: bool = Field(
        True, description="Start on any file system and without ScyllaDB's set-up of the machine."
    )
    num_tokens: int = Field(
        1,
        ge=1,
        le=256,
        description="Tokens of each node, evenly spread; a node that joins halves the widest ranges.",
    )
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Further settings of scylla.yaml, as they are."
    )
    flags: tuple[str, ...] = Field((), description="Further options of the command line; they come last.")
    datacenter: str = Field("datacenter1", pattern=_NAME, description="Name of the data centre.")
    ring_delay: Duration = Field(
        Duration(2), description="How long a node waits for news to spread; ScyllaDB's own is 30s."
    )
    join_within: Duration = Field(
        Duration(3600), description="Longest time for one node to join with its data, or to hand it over."
    )
    cleanup: bool = Field(
        False,
        description="After growing, have the old nodes drop what is no longer theirs; then it has grown.",
    )
    port: int | None = Field(None, ge=1, le=65000, description="Port for clients. Default: one that is free.")

    @field_validator("settings")
    @classmethod
    def _not_ours(cls, settings: dict[str, Any]) -> dict[str, Any]:
        if name := refused(settings):
            raise ValueError(f"'{name}' is set by the service itself; leave it out")
        return settings

    @field_validator("flags")
    @classmethod
    def _not_our_flags(cls, flags: tuple[str, ...]) -> tuple[str, ...]:
        if name := refused_flag(flags):
            raise ValueError(f"'{name}' is given by the service itself; use its options")
        return flags
