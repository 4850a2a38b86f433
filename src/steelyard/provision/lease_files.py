"""Files that hold what a controller asked for, written before it asks: what a dead one left is in them.

They lie in `~/.local/state/steelyard/leases` (XDG_STATE_HOME is honoured) and are their owner's alone (0600).
Each is locked for as long as its controller lives: whoever can lock it may give back all that is in it.
A line is a JSON object; a file only ever grows, so that only its last line can be cut off. The first is
the lease, with the number of its form.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from pydantic import TypeAdapter

from steelyard.errors import HostError, SteelyardError

NEW = ".new"
_MOST_BYTES = 1 << 20


class RecordedLease(Protocol):
    """What one controller asked for: a frozen dataclass, whose fields are the first line of its file."""

    @property
    def run(self) -> str:
        """The id of its controller's run."""

    @property
    def id(self) -> str:
        """Which of its run's it is."""


LeaseT = TypeVar("LeaseT", bound=RecordedLease)


class LeaseFile(Generic[LeaseT]):
    """A lease with its file, locked by us.

    The subclass sets `Lease`, the class of its leases; `schema`, the number of their form; `suffix`, of its
    files. For messages it sets `subject`, which is recorded; `without`, what is not done without a file; and
    `unreadable`, what to do about one that cannot be read.
    """

    Lease: ClassVar[type[Any]]
    schema: ClassVar[int]
    suffix: ClassVar[str]
    subject: ClassVar[str]
    without: ClassVar[str]
    unreadable: ClassVar[str]

    def __init__(self, path: Path, lease: LeaseT, file: int) -> None:
        self.path, self.lease, self._file = path, lease, file

    @classmethod
    def create(cls, lease: LeaseT) -> Self:
        """Write it down, on the disk. Raises HostError; then nothing must be asked for."""
        path = leases_folder() / f"{lease.run}.{lease.id}{cls.suffix}"
        opening = {"schema": cls.schema, **TypeAdapter(cls.Lease).dump_python(lease)}
        try:
            return cls(path, lease, _create_locked(path, opening))
        except OSError as error:
            hint = f"set XDG_STATE_HOME to use another directory; without this file, {cls.without}"
            message = f"{path.parent}: cannot record {cls.subject}: {error.strerror}"
            raise HostError(message, hint=hint) from error

    @classmethod
    def from_abandoned(cls, path: Path) -> Self | None:
        """One whose controller does not live any more; None while it does. Raises HostError."""
        try:
            file = _open_abandoned(path)
        except OSError as error:
            raise HostError(f"{path}: {error.strerror}") from error
        if file is None:
            return None
        try:
            return cls._from_lines(path, file)
        except (OSError, KeyError, ValueError, TypeError) as error:
            os.close(file)
            message = f"{path} is truncated, or was written by another version of Steelyard"
            raise HostError(message, hint=cls.unreadable) from error

    @classmethod
    def give_back(cls, is_dead: Callable[[LeaseT], bool], release: Callable[[Self], None]) -> list[str]:
        """Release what dead controllers of this user left; returns what could not be released, in sentences.

        Two things must both say that a controller is dead: the file can be locked, which it would hold, and
        `is_dead`. What fails is found again the next time. Where nothing was ever asked for, this looks at
        one directory.
        """
        problems: list[str] = []
        for path in sorted(leases_folder().glob(f"*{cls.suffix}")):
            try:
                if file := cls.from_abandoned(path):
                    with closing(file):
                        if is_dead(file.lease):
                            file._give_back(release)
            except SteelyardError as error:
                problems.append(str(error))
        return problems

    def _give_back(self, release: Callable[[Self], None]) -> None:
        """Release it. Raises SteelyardError, which says of what run, and how to end asking for it."""
        try:
            release(self)
        except SteelyardError as error:
            hint = f"if nothing of it is there any more, remove {self.path}"
            raise HostError(f"what run {self.lease.run} left: {error}", hint=hint) from error

    def load(self, entries: Sequence[dict[str, Any]]) -> None:
        """Take note of all lines but the first. Raises KeyError, ValueError, TypeError."""

    def append(self, entry: dict[str, Any]) -> None:
        """Add a line, on the disk. Raises HostError."""
        try:
            _append_entry(self._file, entry)
        except OSError as error:
            raise HostError(f"{self.path}: cannot record {self.subject}: {error.strerror}") from error

    def remove(self) -> None:
        """Nothing is left of it."""
        with suppress(OSError):
            self.path.unlink()

    def close(self) -> None:
        """Let go of it."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    @classmethod
    def _from_lines(cls, path: Path, file: int) -> Self:
        opening, *rest = _read_entries(file)
        if opening.get("schema") != cls.schema:
            raise ValueError(f"schema {opening.get('schema')} is not {cls.schema}")
        abandoned = cls(path, TypeAdapter(cls.Lease).validate_python(opening), file)
        abandoned.load(rest)
        return abandoned


def leases_folder() -> Path:
    """Where these files lie: `~/.local/state/steelyard/leases`."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "steelyard" / "leases"


def _create_locked(path: Path, opening: dict[str, Any]) -> int:
    """A new file with a first line, on the disk and locked; returns it open. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_suffix(NEW)  # it gets its name once it is locked and written
    file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    _append_entry(file, opening)
    new.rename(path)
    _sync(path.parent)
    return file


def _open_abandoned(path: Path) -> int | None:
    """A file whose controller does not live any more, open and locked; None without one. Raises OSError."""
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _has_name(path, file):
            return file
    os.close(file)  # its controller lives, or gave everything back just now
    return None


def _append_entry(file: int, entry: dict[str, Any]) -> None:
    """One more line, on the disk. Raises OSError."""
    os.write(file, json.dumps(entry).encode() + b"\n")
    os.fsync(file)


def _read_entries(file: int) -> list[dict[str, Any]]:
    """All lines; one that was cut off is empty. Raises OSError."""
    return [_parse_entry(line) for line in os.pread(file, _MOST_BYTES, 0).split(b"\n")]


def _parse_entry(line: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        entry = json.loads(line)
        if isinstance(entry, dict):
            return entry
    return {}


def _has_name(path: Path, file: int) -> bool:
    """Whether the file still has its name."""
    try:
        return path.stat().st_ino == os.fstat(file).st_ino
    except FileNotFoundError:
        return False


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
