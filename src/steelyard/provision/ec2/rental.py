"""The file about what is rented, written before anything is asked for: what a dead controller left is in it.

::

    ~/.local/state/steelyard/leases/<run>.<id>.ndjson      (0600; XDG_STATE_HOME is honoured)
        {"schema": 1, "id": …, "run": …, "region": …, …}   what will be asked for, by whom
        {"asked": "c4.xlarge", "count": 2, "time": …}      before each request
        {"got": "c4.xlarge", "ids": ["i-…", "i-…"]}        after it; none where AWS refused

It only ever grows, and is locked for as long as its controller lives: whoever can lock it may give back all
that is in it. There is nothing secret in it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from steelyard.errors import HostError

SCHEMA = 1
SUFFIX, NEW = ".ndjson", ".new"
KEY_PAIR, GROUP = "key-pair", "security-group"  # as AWS calls them in tags
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Rental:
    """What one controller rents at a time.

    `token` is its controller's, `folder` its run's; `profile` names the AWS profile. `name` is what the key
    pair and the security group are called that are made for it.
    """

    id: str
    run: str
    token: str
    folder: str
    region: str
    profile: str | None

    @property
    def name(self) -> str:
        """What is made for it is called by this."""
        return f"steelyard-{self.id}"


@dataclass
class Request:
    """One request for so many things, at an epoch `time`. `ids` is None as long as AWS has not answered."""

    count: int
    time: float
    ids: tuple[str, ...] | None = None

    def is_pending(self, seconds: float) -> bool:
        """Whether what was asked for may still show up, which takes so many seconds at most."""
        return self.ids is None and 0 <= time.time() - self.time < seconds


@dataclass
class RentalFile:
    """A rental with its file, locked by us. Requests are by type of machine, or KEY_PAIR, or GROUP."""

    path: Path
    rental: Rental
    requests: dict[str, Request] = field(default_factory=dict)
    _file: int = -1

    @classmethod
    def create(cls, rental: Rental) -> Self:
        """Write it down, on the disk. Raises HostError; then nothing must be rented."""
        path = leases_folder() / f"{rental.run}.{rental.id}{SUFFIX}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            new = path.with_suffix(NEW)  # it gets its name once it is locked and written
            file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
            made = cls(path, rental, _file=file)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            made._write({"schema": SCHEMA, **asdict(rental)})
            new.rename(path)
            _sync(path.parent)
        except OSError as error:
            hint = "set XDG_STATE_HOME to use another directory; without this file, nothing is rented"
            raise HostError(
                f"{path.parent}: cannot record what is rented: {error.strerror}", hint=hint
            ) from error
        return made

    @classmethod
    def from_abandoned(cls, path: Path) -> Self | None:
        """One whose controller does not live any more; None while it does. Raises HostError."""
        try:
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise HostError(f"{path}: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not _has_name(path, file):
                os.close(file)
                return None  # its controller gave everything back just now
            return cls._from_file(path, file)
        except BlockingIOError:
            os.close(file)
            return None
        except (OSError, HostError, KeyError, ValueError, TypeError) as error:
            os.close(file)
            hint = "docs/how-to/ec2.md explains how to find its machines manually"
            raise HostError(f"{path} cannot be parsed: {error}", hint=hint) from error

    def record_request(self, kind: str, count: int = 1) -> None:
        """Note that so many of a kind will be asked for. Raises HostError."""
        request = Request(count, time.time())
        self._note({"asked": kind, "count": count, "time": request.time})
        self.requests[kind] = request

    def record_ids(self, kind: str, ids: Sequence[str]) -> None:
        """Note what AWS has given; nothing, if it refused. Raises HostError."""
        self.requests[kind].ids = tuple(ids)
        self._note({"got": kind, "ids": list(ids)})

    def machines(self) -> dict[str, Request]:
        """The requests for machines, by type."""
        return {kind: asked for kind, asked in self.requests.items() if kind not in (KEY_PAIR, GROUP)}

    def machine_ids(self) -> list[str]:
        """The machines that AWS named."""
        return [one for request in self.machines().values() for one in request.ids or ()]

    def remove(self) -> None:
        """All is given back."""
        with suppress(OSError):
            self.path.unlink()

    def close(self) -> None:
        """Let go of it."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _note(self, line: dict[str, Any]) -> None:
        try:
            self._write(line)
        except OSError as error:
            raise HostError(f"{self.path}: cannot record what is rented: {error.strerror}") from error

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")
        os.fsync(self._file)

    @classmethod
    def _from_file(cls, path: Path, file: int) -> Self:
        first, *rest = os.pread(file, _MOST_BYTES, 0).split(b"\n")
        opening = _parse_entry(first)
        names = [one.name for one in fields(Rental)]
        if opening.get("schema") != SCHEMA or not all(name in opening for name in names):
            raise HostError("it is truncated, or was written by another version of Steelyard")
        rental_file = cls(path, Rental(**{name: opening[name] for name in names}), _file=file)
        for line in map(_parse_entry, rest):
            if "asked" in line:
                rental_file.requests[line["asked"]] = Request(int(line["count"]), float(line["time"]))
            elif "got" in line:
                rental_file.requests[line["got"]].ids = tuple(line["ids"])
        return rental_file


def leases_folder() -> Path:
    """Where these files lie: `~/.local/state/steelyard/leases`."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "steelyard" / "leases"


def _parse_entry(line: bytes) -> dict[str, Any]:
    """A line; nothing where it was cut off, which only happens to the last."""
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
