"""What can be chosen of a ring of Cassandra."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from steelyard.plugin import Duration, Size
from steelyard.services.cassandra.config import find_reserved_setting
from steelyard.services.kit.ring_options import NAME, RingOptions


class MirrorOptions(BaseModel):
    """A second data centre that keeps a copy of everything on a file system that outlives the ring."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    nodes: int = Field(1, ge=1, le=256, description="How many of the last hosts of `on` form the mirror.")
    directory: str = Field(
        description="Persistent directory for the nodes' data, with a subdirectory for each host."
    )
    datacenter: str = Field("mirror", pattern=NAME, description="Name of the mirror data centre.")
    replication: int = Field(1, ge=1, le=16, description="Copies of each row in the mirror.")
    repair: bool = Field(
        False,
        description="Repair differing copies once before reporting them as different; the facts list them.",
    )
    within: Duration = Field(
        Duration(3600), description="Time limit for bringing the mirror up to date and verifying it."
    )

    @field_validator("directory")
    @classmethod
    def _check_directory(cls, directory: str) -> str:
        path = PurePosixPath(directory)
        if not path.is_absolute() or len(path.parts) < 2 or ".." in path.parts or not directory.isprintable():
            raise ValueError(f"{directory!r} is not an absolute directory path")
        return str(path)

    @model_validator(mode="after")
    def _check_replication(self) -> Self:
        if self.replication > self.nodes:
            raise ValueError(
                f"replication {self.replication} needs {self.replication} nodes, not {self.nodes}"
            )
        return self


class CassandraOptions(RingOptions):
    """The ring, its nodes, and how they keep data."""

    authentication: Literal["password", "none"] = Field(
        "password",
        description="How clients log in. `none` is for clients that cannot: anyone who can reach the "
        "ring then has full access, so it needs hosts without other users, or `open: true`.",
    )
    keyspaces: tuple[str, ...] = Field((), description="Keyspaces to create before the ring is ready.")
    heap: Size | None = Field(
        None,
        description="Java heap of a node. Default: a quarter of its share of the memory, 128 MiB to 8 GiB.",
    )
    commitlog_sync: Literal["periodic", "batch", "group"] = Field(
        "periodic",
        description="When a write is acknowledged: at once (synced every 10 s), or after it is on disk.",
    )
    jvm: tuple[str, ...] = Field((), description="Additional Java flags, appended last.")
    mirror: MirrorOptions | None = Field(
        None,
        description="A second data centre on the last hosts, with its data on a shared file system. "
        "Default: none.",
    )
    snapshot_within: Duration = Field(
        Duration(3600), description="Time limit for each step of a snapshot or recovery."
    )

    @property
    def has_authentication(self) -> bool:
        """Whether clients must log in."""
        return self.authentication == "password"

    @staticmethod
    def list_refusals(settings: dict[str, Any]) -> str | None:
        """See `RingOptions`."""
        return find_reserved_setting(settings)

    @model_validator(mode="after")
    def _check_datacenter(self) -> Self:
        if self.mirror and self.mirror.datacenter == self.datacenter:
            raise ValueError(f"the mirror cannot be named '{self.datacenter}', like the other data centre")
        return self

    @field_validator("keyspaces")
    @classmethod
    def _check_keyspaces(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not re.match(NAME, name):
                raise ValueError(f"'{name}' is not a keyspace name: use letters, digits, _, at most 48")
        return names
