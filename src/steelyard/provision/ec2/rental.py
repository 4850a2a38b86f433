"""The file about what is rented, written before anything is asked for: what a dead controller left is in it.

::

    ~/.local/state/steelyard/leases/<run>.<id>.ndjson      (0600; XDG_STATE_HOME is honoured)
        {"schema": 1, "id": …, "run": …, "region": …, …}   what will be asked for, by whom
        {"asked": "c4.xlarge", "count": 2, "time": …}      before each request
        {"got": "c4.xlarge", "ids": ["i-…", "i-…"]}        after it; none where AWS refused

There is nothing secret in it; see `lease_files`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from steelyard.errors import HostError
from steelyard.provision.lease_files import (
    append_entry,
    create_locked,
    leases_folder,
    open_abandoned,
    read_entries,
)

SCHEMA = 1
SUFFIX = ".ndjson"
KEY_PAIR, GROUP = "key-pair", "security-group"  # as AWS calls them in tags


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
            return cls(path, rental, _file=create_locked(path, {"schema": SCHEMA, **asdict(rental)}))
        except OSError as error:
            hint = "set XDG_STATE_HOME to use another directory; without this file, nothing is rented"
            raise HostError(
                f"{path.parent}: cannot record what is rented: {error.strerror}", hint=hint
            ) from error

    @classmethod
    def from_abandoned(cls, path: Path) -> Self | None:
        """One whose controller does not live any more; None while it does. Raises HostError."""
        try:
            file = open_abandoned(path)
        except OSError as error:
            raise HostError(f"{path}: {error.strerror}") from error
        if file is None:
            return None
        try:
            return cls._from_file(path, file)
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
            append_entry(self._file, line)
        except OSError as error:
            raise HostError(f"{self.path}: cannot record what is rented: {error.strerror}") from error

    @classmethod
    def _from_file(cls, path: Path, file: int) -> Self:
        opening, *rest = read_entries(file)
        names = [one.name for one in fields(Rental)]
        if opening.get("schema") != SCHEMA or not all(name in opening for name in names):
            raise HostError("it is truncated, or was written by another version of Steelyard")
        rental_file = cls(path, Rental(**{name: opening[name] for name in names}), _file=file)
        for line in rest:
            if "asked" in line:
                rental_file.requests[line["asked"]] = Request(int(line["count"]), float(line["time"]))
            elif "got" in line:
                rental_file.requests[line["got"]].ids = tuple(line["ids"])
        return rental_file
