"""What is kept of a service's data at one moment: which files of which node, with what to check them by.

A snapshot is read from a place that others may write to, so nothing in it is believed before it was checked:
names are plain, paths stay below the directory that they are laid into, digests are digests.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import Annotated

from pydantic import Field, StrictFloat, StrictInt, ValidationError, field_validator

from steelyard.errors import StoreError
from steelyard.model.part import Part

SCHEMA = 1
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_DIGEST = r"^[0-9a-f]{64}$"
Label = Annotated[str, Field(max_length=256, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
Moment = Annotated[StrictFloat, Field(ge=0, le=1e11, allow_inf_nan=False)]
Seconds = Annotated[StrictFloat, Field(ge=0, allow_inf_nan=False)]


class StoredFile(Part):
    """A file: its place below its node's directory, its size in bytes, its SHA-256."""

    path: str
    size: Annotated[StrictInt, Field(ge=0)]
    digest: Annotated[str, Field(pattern=_DIGEST)]

    @field_validator("path")
    @classmethod
    def _stays_inside(cls, value: str) -> str:
        parts = value.split("/")
        odd = any(part in ("", ".", "..") or part.startswith("-") for part in parts)
        if odd or not value.isprintable() or any(sign in value for sign in "\\\t\n'\""):
            raise ValueError(f"{value[:80]!r} is no plain path of a file")
        return value


class SnapshotNode(Part):
    """One node's part. `tokens`: its place in the ring. `rows`: by table, as its files count them."""

    host: Label
    tokens: tuple[str, ...] = ()
    files: tuple[StoredFile, ...] = ()
    rows: dict[str, StrictInt] = Field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.size for file in self.files)


class Snapshot(Part):
    """A service's data at one moment.

    `service` is the plug-in that took it, `version` the server's. `taken` is when, in seconds since 1970
    (UTC). `origin` is the run, `job` the scheduler's id of its job, `site` where it ran. `definitions` are
    the statements that make what holds the data. `replication` tells by keyspace how many nodes keep a row.
    `steps` are seconds by step, `spread` those between the first and the last node's moment;
    `copied` counts the bytes that were not in the store of snapshots before. `waiting` are hosts whose nodes
    still kept writes for others that had not taken them: fewer nodes have those in their files than should.
    """

    schema_version: Annotated[StrictInt, Field(alias="schema", ge=1)] = SCHEMA
    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
    service: Label
    version: Label
    taken: Moment
    origin: Label = ""
    job: Label = ""
    site: Label = ""
    replication: dict[str, Annotated[StrictInt, Field(ge=1)]] = Field(default_factory=dict)
    definitions: tuple[str, ...] = ()
    nodes: tuple[SnapshotNode, ...]
    steps: dict[Label, Seconds] = Field(default_factory=dict)
    spread: Seconds = 0.0
    copied: StrictInt = 0
    waiting: tuple[Label, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all files of all nodes."""
        return sum(node.size for node in self.nodes)

    @property
    def rows(self) -> int:
        """Rows of all tables, each once: what the files count, by the number of nodes that keep each.

        A row that was written again since its first file was flushed counts once for each file it is in.
        """
        found = Counter[str]()
        for node in self.nodes:
            found.update(node.rows)
        return sum(rows // self.replication.get(table.partition(".")[0], 1) for table, rows in found.items())

    @property
    def digests(self) -> frozenset[str]:
        """Of all its files."""
        return frozenset(file.digest for node in self.nodes for file in node.files)

    def to_text(self) -> str:
        """The manifest, as JSON."""
        return self.model_dump_json(by_alias=True, indent=1) + "\n"

    @classmethod
    def from_text(cls, text: str, where: str) -> Snapshot:
        """Of a manifest. Raises StoreError that names `where` and all that is wrong with it."""
        try:
            found = cls.model_validate_json(text)
        except ValidationError as error:
            faults = [f"{_at(fault['loc'])}: {fault['msg']}" for fault in error.errors()[:5]]
            raise StoreError(f"{where} is no manifest of a snapshot: {'; '.join(faults)}") from error
        if found.schema_version > SCHEMA:
            hint = "a newer Steelyard wrote it; update this one"
            raise StoreError(f"{where} has schema {found.schema_version}, this is for {SCHEMA}", hint=hint)
        return found


def snapshot_name(moment: float, job: str) -> str:
    """`20261120-184512-17`: by time (UTC), then by the job or run that took it; sorts by time."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", job).strip("-")[:64] or "here"
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(moment))}-{plain}"


def _at(place: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in place) or "the file"
