"""What is kept of a service's data at one moment: which files of which node, with what to check them by.

A snapshot is read from a place that others may write to, so nothing in it is believed before it was checked:
every field has a form and a bound, names are plain, paths stay below the directory that they are laid into,
and nothing is named twice. What the names of one kind of service mean is for that service to check.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Hashable, Iterable
from pathlib import PurePosixPath
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    FailFast,
    Field,
    StrictFloat,
    StrictInt,
    ValidationError,
    field_validator,
    model_validator,
)

from steelyard.errors import StoreError
from steelyard.model.part import Part

SCHEMA = 1
REFUSED_HINT = "use a snapshot taken by Steelyard, from a place that only trusted people can write to"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
LARGEST = 64 << 20
"""Characters of a manifest, of some 350,000 files. A longer one is neither written nor read."""
_MOST_VALUES = 1 << 20  # in it, by its commas: a short text of many small values would fill the memory
_MOST_TOLD = 1000  # faults; a manifest that has more is not worth a list
_DIGEST = r"^[0-9a-f]{64}$"
_ODD = frozenset("\\\t\n'\"")


def _check_printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError(f"{text[:80]!r} contains unprintable characters")
    return text


def _check_unique(things: Iterable[Hashable], what: str) -> None:
    repeated = [str(thing) for thing, times in Counter(things).items() if times > 1]
    if repeated:
        raise ValueError(f"{what} {', '.join(repeated[:5])} occurs more than once")


Label = Annotated[str, Field(max_length=256), AfterValidator(_check_printable)]
Moment = Annotated[StrictFloat, Field(ge=0, le=1e11, allow_inf_nan=False)]
Seconds = Annotated[StrictFloat, Field(ge=0, le=1e9, allow_inf_nan=False)]
Count = Annotated[StrictInt, Field(ge=0, le=1 << 60)]
Copies = Annotated[StrictInt, Field(ge=1, le=1000)]
Definition = Annotated[str, Field(max_length=1 << 20)]
Token = Annotated[str, Field(pattern=r"^-?[0-9]{1,20}$")]


class StoredFile(Part):
    """A file: its place below its node's directory, its size in bytes, its SHA-256."""

    path: Annotated[str, Field(max_length=1024)]
    size: Annotated[StrictInt, Field(ge=0, le=1 << 50)]
    digest: Annotated[str, Field(pattern=_DIGEST)]

    @field_validator("path")
    @classmethod
    def _check_path(cls, value: str) -> str:
        parts = value.split("/")
        odd = any(part in ("", ".", "..") or part.startswith("-") or len(part) > 255 for part in parts)
        if odd or not value.isprintable() or _ODD & set(value):
            raise ValueError(f"{value[:80]!r} is not a plain file path")
        return value


class SnapshotNode(Part):
    """One node's part. `tokens`: its place in the ring. `rows`: by table, as its files count them."""

    host: Annotated[Label, Field(min_length=1)]
    tokens: Annotated[tuple[Token, ...], FailFast(), Field(max_length=4096)] = ()
    files: Annotated[tuple[StoredFile, ...], FailFast()] = ()
    rows: Annotated[dict[Label, Count], Field(max_length=100_000)] = Field(default_factory=dict)

    @field_validator("files")
    @classmethod
    def _check_files(cls, files: tuple[StoredFile, ...]) -> tuple[StoredFile, ...]:
        """No file is where another is, or a directory of it has to be."""
        paths = [file.path for file in files]
        folders = {PurePosixPath(path.rpartition("/")[0]) for path in paths}
        above = {str(parent) for folder in folders for parent in (folder, *folder.parents)}
        _check_unique([*paths, *above & set(paths)], "the path")
        return files

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
    `left_out` names what the service had and a snapshot does not keep, since it would be code.
    """

    schema_version: Annotated[StrictInt, Field(alias="schema", ge=1)] = SCHEMA
    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
    service: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
    version: Annotated[str, Field(pattern=r"^[A-Za-z0-9._+~-]{0,64}$")]
    taken: Moment
    origin: Label = ""
    job: Label = ""
    site: Label = ""
    replication: Annotated[dict[Label, Copies], Field(max_length=10_000)] = Field(default_factory=dict)
    definitions: Annotated[tuple[Definition, ...], FailFast(), Field(max_length=100_000)] = ()
    nodes: Annotated[tuple[SnapshotNode, ...], FailFast(), Field(max_length=10_000)]
    steps: Annotated[dict[Label, Seconds], Field(max_length=100)] = Field(default_factory=dict)
    spread: Seconds = 0.0
    copied: Count = 0
    waiting: Annotated[tuple[Label, ...], FailFast(), Field(max_length=10_000)] = ()
    left_out: Annotated[tuple[Label, ...], FailFast(), Field(max_length=100_000)] = ()

    @model_validator(mode="after")
    def _check_nodes(self) -> Self:
        _check_unique((node.host for node in self.nodes), "the host")
        _check_unique((token for node in self.nodes for token in node.tokens), "the token")
        return self

    @property
    def size(self) -> int:
        """Bytes of all files of all nodes."""
        return sum(node.size for node in self.nodes)

    @property
    def rows(self) -> int:
        """Rows of all tables, each once: what the files count, by the number of nodes that keep each.

        A row that was written again since its first file was flushed counts once for each file it is in.
        """
        counts = Counter[str]()
        for node in self.nodes:
            counts.update(node.rows)
        return sum(rows // self.replication.get(table.partition(".")[0], 1) for table, rows in counts.items())

    @property
    def digests(self) -> frozenset[str]:
        """Of all its files."""
        return frozenset(file.digest for node in self.nodes for file in node.files)

    def to_text(self) -> str:
        """The manifest, as JSON. Raises StoreError where nobody would read it."""
        return _check_size(
            self.model_dump_json(by_alias=True, indent=1) + "\n", f"the manifest of {self.name}"
        )

    @classmethod
    def from_text(cls, text: str, where: str) -> Snapshot:
        """Of a manifest. Raises StoreError that names `where` and all that is wrong with it."""
        try:
            snapshot = cls.model_validate_json(_check_size(text, where))
        except ValidationError as error:
            raise StoreError(f"{where} is not a snapshot manifest: {_describe_faults(error)}") from None
        if snapshot.schema_version > SCHEMA:
            hint = "a newer Steelyard wrote it; update your Steelyard"
            raise StoreError(f"{where} has schema {snapshot.schema_version}, expected {SCHEMA}", hint=hint)
        return snapshot


def snapshot_name(moment: float, job: str) -> str:
    """`20261120-184512-17`: by time (UTC), then by the job or run that took it; sorts by time."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", job).strip("-")[:64] or "here"
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(moment))}-{plain}"


def _check_size(text: str, where: str) -> str:
    """The text of a manifest, where it is not so large that reading it would fill the memory."""
    if len(text) > LARGEST or text.count(",") > _MOST_VALUES:
        size = f"{len(text) >> 20} MiB with {text.count(',')} commas"
        hint = f"a manifest may have at most {LARGEST >> 20} MiB and {_MOST_VALUES} commas; save fewer files"
        raise StoreError(f"{where} is too large: {size}", hint=hint)
    return text


def _describe_faults(error: ValidationError) -> str:
    count = error.error_count()
    if count > _MOST_TOLD:
        return f"it has {count} faults"
    faults = error.errors(include_url=False, include_context=False, include_input=False)[:5]
    return "; ".join(f"{_format_location(fault['loc'])}: {fault['msg']}" for fault in faults)


def _format_location(place: tuple[int | str, ...]) -> str:
    """Where in the document; a stranger may have chosen the names in it."""
    names = (str(part)[:80] for part in place)
    return ".".join(name if name.isprintable() else ascii(name) for name in names) or "the file"
