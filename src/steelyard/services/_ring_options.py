"""What can be chosen of any ring of nodes that speak CQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from pydantic import Field, field_validator

from steelyard.services._tls_option import TlsOption
from steelyard.units import Duration

NAME = r"^[a-zA-Z][a-zA-Z0-9_]{0,47}$"


class RingOptions(TlsOption, ABC):
    """Copies, tokens, settings, how long nodes may take. The subclass says which settings are not free."""

    replication: int | None = Field(
        None,
        ge=1,
        le=16,
        description="Copies of each row. Default: 3, or the number of nodes.",
    )
    num_tokens: int = Field(
        1,
        ge=1,
        le=256,
        description="Tokens of each node, evenly spread; a node that joins halves the widest ranges.",
    )
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Further settings of the server's own file, as they are."
    )
    datacenter: str = Field("datacenter1", pattern=NAME, description="Name of the data centre.")
    ring_delay: Duration = Field(
        Duration(2),
        description="How long a node that joins or leaves waits for the news to spread; by itself it is 30s.",
    )
    join_within: Duration = Field(
        Duration(3600), description="Longest time for one node to join with its data, or to hand it over."
    )
    cleanup: bool = Field(
        False,
        description="After growing, have the old nodes drop what is no longer theirs; then it has grown.",
    )
    port: int | None = Field(None, ge=1, le=65000, description="Port for clients. Default: one that is free.")

    @staticmethod
    @abstractmethod
    def refused(settings: dict[str, Any]) -> str | None:
        """The first setting that the service must see to itself."""

    @field_validator("settings")
    @classmethod
    def _not_ours(cls, settings: dict[str, Any]) -> dict[str, Any]:
        if name := cls.refused(settings):
            raise ValueError(f"'{name}' is set by the service itself; leave it out")
        return settings
