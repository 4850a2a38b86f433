"""What is kept of a suite: its file as it was run, and which run was made for which of its experiments.

::

    <store>/suites/<id>/  suite.yaml  units.ndjson  summary.md
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import RunBusy, StoreError, UnknownName
from steelyard.files import write_whole
from steelyard.store.appending import append_lines, read_added_lines
from steelyard.store.layout import Store, is_run_id, make_dated_folder, match_ids
from steelyard.store.writer import PATIENCE

_PAUSE = 0.01


@dataclass(frozen=True, slots=True)
class SuiteFolder:
    """The folder of a suite that was begun."""

    path: Path

    @property
    def id(self) -> str:
        """Its id, as a run's: `20261120-184512-acceptance-7f3a`."""
        return self.path.name

    @property
    def file(self) -> Path:
        """The suite as it was begun."""
        return self.path / "suite.yaml"

    @property
    def units(self) -> Path:
        """A line for each thing that happened to one of its experiments."""
        return self.path / "units.ndjson"

    @property
    def summary(self) -> Path:
        """What it came to."""
        return self.path / "summary.md"

    def read_lines(self) -> list[dict[str, Any]]:
        """What happened; a torn line says nothing. Raises StoreError."""
        return read_added_lines(self.units)

    def add_line(self, **facts: Any) -> None:
        """Write down what happened. Raises StoreError."""
        append_lines(self.units, [{"wall": time.time(), **facts}])

    def is_live(self) -> bool:
        """Whether somebody goes on with it just now, on this machine or through a shared file system."""
        try:
            with self.lock(fcntl.LOCK_SH, patience=0):
                return False
        except RunBusy:
            return True
        except StoreError:
            return False  # nothing is there; where nothing can be locked, nobody goes on with it either

    @contextmanager
    def lock(self, how: int = fcntl.LOCK_EX, *, patience: float = PATIENCE) -> Iterator[None]:
        """Nobody else goes on with it meanwhile. Raises RunBusy, StoreError.

        Tried for `patience` seconds, because `is_live` holds it for an instant.
        """
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(f"cannot open {self.path}: {error.strerror}") from error
        try:
            self._acquire(file, how, time.monotonic() + patience)
            yield
        finally:
            os.close(file)

    def _acquire(self, file: int, how: int, until: float) -> None:
        while True:
            try:
                return fcntl.flock(file, how | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise RunBusy(f"suite {self.id} is in use by another process") from None
            except OSError as error:
                raise StoreError(f"cannot lock {self.path}: {error.strerror}") from error
            time.sleep(_PAUSE)


def create_suite(store: Store, name: str, text: str, place: Path) -> SuiteFolder:
    """A new folder for a suite whose experiments lie below `place`. Raises StoreError."""
    try:
        store.make_runs()
        store.suites.mkdir(mode=0o700, exist_ok=True)
        folder = SuiteFolder(make_dated_folder(store.suites, name))
        write_whole(folder.file, text.encode(), sync=True)
    except OSError as error:
        raise StoreError(f"cannot create a suite in {store.suites}: {error.strerror}") from error
    folder.add_line(kind="begun", folder=str(place))
    return folder


def list_suites(store: Store) -> list[SuiteFolder]:
    """All suites, oldest first."""
    with suppress(OSError):
        names = sorted(path.name for path in store.suites.iterdir())
        return [SuiteFolder(store.suites / name) for name in names if is_run_id(name)]
    return []


def find_suite(store: Store, name: str) -> SuiteFolder | None:
    """The suite of a name, as runs are named; None where there is none. Raises UnknownName for several."""
    named = match_ids(list_suites(store), name)
    if len(named) > 1:
        hint = f"it matches: {', '.join(one.id for one in named[-5:])}"
        raise UnknownName("suite", name, [one.id for one in named], hint=hint)
    return named[0] if named else None
