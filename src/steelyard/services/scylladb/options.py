"""What can be chosen of a ring of ScyllaDB."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from steelyard.plugin import Size
from steelyard.services.kit.ring_options import RingOptions
from steelyard.services.scylladb.config import find_reserved_flag, find_reserved_setting


class ScyllaOptions(RingOptions):
    """The ring, its nodes, and what they take of their hosts."""

    smp: int | None = Field(
        None,
        ge=1,
        le=256,
        description="Shards of a node, one core each. Default: the cores it may use, at most one per GiB.",
    )
    memory: Size | None = Field(
        None, description="Memory of a node. Default: three quarters of the host memory it may use."
    )
    alone: bool = Field(
        False, description="Let it pin its threads and poll, because nothing else uses its hosts' cores."
    )
    developer_mode: bool = Field(
        True, description="Start on any file system and without ScyllaDB's machine setup."
    )
    flags: tuple[str, ...] = Field((), description="Additional command-line options, appended last.")

    @staticmethod
    def list_refusals(settings: dict[str, Any]) -> str | None:
        """See `RingOptions`."""
        return find_reserved_setting(settings)

    @field_validator("flags")
    @classmethod
    def _check_flags(cls, flags: tuple[str, ...]) -> tuple[str, ...]:
        if name := find_reserved_flag(flags):
            raise ValueError(f"'{name}' is set by the service itself; use the service's options")
        return flags
