"""What can be chosen of a ring of ScyllaDB."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from steelyard.services._ring_options import RingOptions
from steelyard.services._scylla_config import find_reserved_flag, find_reserved_setting
from steelyard.units import Size


class ScyllaOptions(RingOptions):
    """The ring, its nodes, and what they take of their hosts."""

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
    flags: tuple[str, ...] = Field((), description="Further options of the command line; they come last.")

    @staticmethod
    def refused(settings: dict[str, Any]) -> str | None:
        """See `RingOptions`."""
        return find_reserved_setting(settings)

    @field_validator("flags")
    @classmethod
    def _not_our_flags(cls, flags: tuple[str, ...]) -> tuple[str, ...]:
        if name := find_reserved_flag(flags):
            raise ValueError(f"'{name}' is given by the service itself; use its options")
        return flags
