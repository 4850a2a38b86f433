"""What can be chosen of a ring of Cassandra."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from steelyard.services._cassandra_config import find_reserved_setting
from steelyard.services._ring_options import NAME, RingOptions
from steelyard.units import Duration, Size


class MirrorOptions(BaseModel):
    """A second data centre that keeps a copy of everything on a file system that outlives the ring."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    nodes: int = Field(1, ge=1, le=256, description="How many of the last hosts of `on` it has.")
    directory: str = Field(
        description="Where its nodes keep their data, in a directory each by its host's name; it stays."
    )
    datacenter: str = Field("mirror", pattern=NAME, description="Its name.")
    replication: int = Field(1, ge=1, le=16, description="Copies of each row in it.")
    repair: bool = Field(
        False, description="Before it is said that copies differ, repair them once; the facts tell which."
    )
    within: Duration = Field(
        Duration(3600), description="Longest time to bring it everything and to prove that it has it."
    )

    @field_validator("directory")
    @classmethod
    def _whole_path(cls, directory: str) -> str:
        path = PurePosixPath(directory)
        if not path.is_absolute() or len(path.parts) < 2 or ".." in path.parts or not directory.isprintable():
            raise ValueError(f"{directory!r} is no absolute path of a directory")
        return str(path)

    @model_validator(mode="after")
    def _enough_nodes(self) -> Self:
        if self.replication > self.nodes:
            raise ValueError(
                f"replication {self.replication} needs {self.replication} nodes, not {self.nodes}"
            )
        return self


class CassandraOptions(RingOptions):
    """The ring, its nodes, and how they keep data."""

    authentication: Literal["password", "none"] = Field(
        "password",
        description="What clients must show. `none` is for those that cannot log in: whoever reaches the "
        "ring may then do everything, so it needs hosts of nobody else's, or `open: true`.",
    )
    keyspaces: tuple[str, ...] = Field((), description="Keyspaces that are there when the ring is ready.")
    heap: Size | None = Field(
        None,
        description="Java heap of a node. Default: a quarter of its share of the memory, 128 MiB to 8 GiB.",
    )
    commitlog_sync: Literal["periodic", "batch", "group"] = Field(
        "periodic",
        description="When a write counts as done: at once (on disk every 10 s), or once it is on disk.",
    )
    jvm: tuple[str, ...] = Field((), description="Further flags for Java; they come last.")
    mirror: MirrorOptions | None = Field(
        None,
        description="A second data centre of the last hosts, with its data on a shared file system. "
        "Default: none.",
    )
    snapshot_within: Duration = Field(
        Duration(3600), description="Longest time for a step of a snapshot, or of a recovery."
    )

    @staticmethod
    def refused(settings: dict[str, Any]) -> str | None:
        """See `RingOptions`."""
        return find_reserved_setting(settings)

    @model_validator(mode="after")
    def _two_names(self) -> Self:
        if self.mirror and self.mirror.datacenter == self.datacenter:
            raise ValueError(f"the mirror cannot be called '{self.datacenter}', as the other data centre is")
        return self

    @field_validator("keyspaces")
    @classmethod
    def _plain_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not re.match(NAME, name):
                raise ValueError(f"'{name}' is no name of a keyspace: letters, digits, _, at most 48")
        return names
