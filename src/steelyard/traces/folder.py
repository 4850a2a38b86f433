"""Where a trace lies: `<store>/traces/<id>/` with `trace.json`, `trace.parquet`, and segments until then."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import SteelyardError, StoreError, UnknownName
from steelyard.files import write_whole
from steelyard.store.layout import RunFolder, Store, make_dated_folder, match_ids
from steelyard.untrusted import open_regular, read_content

SCHEMA = 1


@dataclass(frozen=True)
class TraceFolder:
    """The folder of one trace and the files in it."""

    path: Path

    @property
    def id(self) -> str:
        """The folder's name: `20261126-184512-sqlite3-7f3a`."""
        return self.path.name

    @property
    def table(self) -> Path:
        """All calls; docs/reference/traces.md has its columns."""
        return self.path / "trace.parquet"

    @property
    def document(self) -> Path:
        """What was recorded, how, and what was not seen."""
        return self.path / "trace.json"

    @property
    def segments(self) -> Path:
        """What the library wrote; removed once there is a table."""
        return self.path / "segments"

    def read_document(self) -> dict[str, Any]:
        """Raises StoreError when it is missing, damaged, or of a newer version."""
        try:
            document = json.loads(read_content(self.document))
        except OSError as error:
            raise StoreError(f"cannot read {self.document}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise StoreError(f"{self.document} is not a trace's document: {error}") from error
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            hint = "another version of Steelyard may have recorded it"
            raise StoreError(f"{self.document} is not a trace's document of schema {SCHEMA}", hint=hint)
        return document

    def verify(self) -> None:
        """Raises StoreError for a table that is not the one which the document was written for."""
        wanted = self.read_document().get("sha256")
        if wanted is not None and hash_file(self.table) != wanted:
            hint = "copy the trace again from where it was recorded"
            raise StoreError(
                f"{self.table} is not what was recorded: it is damaged, or was changed", hint=hint
            )

    def write_document(self, document: Mapping[str, Any]) -> None:
        """Write it whole or not at all. Raises StoreError."""
        content = json.dumps({"schema": SCHEMA, **document}, indent=1, ensure_ascii=True).encode()
        try:
            write_whole(self.document, content + b"\n", sync=True)
        except OSError as error:
            raise StoreError(f"cannot write {self.document}: {error.strerror}") from error


def hash_file(path: Path) -> str:
    """Its SHA-256. Raises StoreError."""
    try:
        with open_regular(path) as file:
            digest = hashlib.sha256()
            while part := file.read(1 << 20):
                digest.update(part)
            return digest.hexdigest()
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def create_trace(store: Store, title: str) -> TraceFolder:
    """A new folder in a store. Raises StoreError."""
    try:
        store.make_runs()
        store.traces.mkdir(mode=0o700, exist_ok=True)
        folder = TraceFolder(make_dated_folder(store.traces, title))
        folder.segments.mkdir(mode=0o700)
    except OSError as error:
        raise StoreError(f"cannot create a trace in the store {store.root}: {error.strerror}") from error
    return folder


@contextmanager
def making_trace(store: Store, title: str) -> Iterator[TraceFolder]:
    """A new folder for a trace that is not recorded here; removed if it cannot be made. Raises StoreError."""
    folder = create_trace(store, title)
    folder.segments.rmdir()
    try:
        yield folder
    except SteelyardError:
        shutil.rmtree(folder.path)
        raise


def list_traces(store: Store) -> list[TraceFolder]:
    """All traces, oldest first. Raises StoreError."""
    try:
        names = os.listdir(store.traces)  # noqa: PTH208 - as runs are listed
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"cannot read {store.traces}: {error.strerror}") from error
    return sorted((TraceFolder(store.traces / name) for name in names), key=_find_age)


def _find_age(trace: TraceFolder) -> tuple[str, int, str]:
    """By its id, which has the second; within one, by when it was written last."""
    try:
        written = trace.path.stat().st_mtime_ns
    except OSError:
        written = 0
    return trace.id[: len("20261126-184512")], written, trace.id


def find_trace(store: Store, name: str) -> TraceFolder:
    """A trace by id, by a part of an id that no other has, by path, or the newest as `last`.

    The id of a run stands for the one trace in its record. Raises UnknownName.
    """
    if "/" in name and Path(name).is_dir():
        return TraceFolder(Path(name))
    every = list_traces(store)
    if name == "last" and every:
        return every[-1]
    matches = match_ids(every, name)
    if not matches and match_ids(store.list_runs(), name):
        return _choose_trace(store.find(name), name)
    if len(matches) == 1:
        return matches[0]
    near = [trace.id for trace in matches or every]
    hint = "`steelyard trace list` shows the traces; `steelyard trace record -- COMMAND` makes one"
    raise UnknownName("trace", name, near, hint=hint)


def _choose_trace(run: RunFolder, name: str) -> TraceFolder:
    """The one in the record of a run. Raises UnknownName where there are none or several."""
    places = sorted({path.parent for what in ("trace.json", "segments") for path in run.path.rglob(what)})
    traces = [TraceFolder(path) for path in places if path.name.endswith("trace")]
    if len(traces) == 1:
        return traces[0]
    paths = ", ".join(str(trace.path) for trace in traces[:5])
    hint = f"name one by its path: {paths}" if traces else "`capture: io` records a workload or a service"
    raise UnknownName("trace", name, [], hint=hint)
