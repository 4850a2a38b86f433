"""What can be chosen of any ring of nodes that speak CQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from pydantic import Field, field_validator

from steelyard.services.kit.tls_option import TlsOption
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
        description="Tokens of each node, evenly spread; a joining node halves the widest ranges.",
    )
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="Additional settings for the server's own configuration file, passed unchanged.",
    )
    datacenter: str = Field("datacenter1", pattern=NAME, description="Name of the data centre.")
    ring_delay: Duration = Field(
        Duration(2),
        description="How long a joining or leaving node waits for gossip to spread; server default: 30s.",
    )
    join_within: Duration = Field(
        Duration(3600), description="Time limit for one node to join with its data, or to hand its data over."
    )
    cleanup: bool = Field(
        False,
        description="After growing, remove data that the old nodes no longer own, as part of the event.",
    )
    port: int | None = Field(None, ge=1, le=65000, description="Port for clients. Default: a free one.")

    @staticmethod
    @abstractmethod
    def list_refusals(settings: dict[str, Any]) -> str | None:
        """The first setting that the service must see to itself."""

    @field_validator("settings")
    @classmethod
    def _check_settings(cls, settings: dict[str, Any]) -> dict[str, Any]:
        if name := cls.list_refusals(settings):
            raise ValueError(f"'{name}' is set by the service itself; remove it")
        return settings
