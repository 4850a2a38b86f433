"""The file about what is rented, written before anything is asked for: what a dead controller left is in it.

::

    ~/.local/state/steelyard/leases/<run>.<id>.ndjson      (0600; XDG_STATE_HOME is honoured)
        {"schema": 1, "id": …, "run": …, "region": …, …}   what will be asked for, by whom
        {"asked": "c4.xlarge", "count": 2, "time": …}      before each request
        {"got": "c4.xlarge", "ids": ["i-…", "i-…"]}        after it; none where AWS refused

There is nothing secret in it; see `lease_files`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.provision.lease_files import LeaseFile

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


class RentalFile(LeaseFile[Rental]):
    """A rental with its file, locked by us. Requests are by type of machine, or KEY_PAIR, or GROUP."""

    Lease = Rental
    schema, suffix = 1, ".ndjson"
    subject, without = "what is rented", "nothing is rented"
    unreadable = "docs/how-to/ec2.md explains how to find its machines manually"

    def __init__(self, path: Path, lease: Rental, file: int) -> None:
        super().__init__(path, lease, file)
        self.requests: dict[str, Request] = {}

    def load(self, entries: Sequence[dict[str, Any]]) -> None:
        """What was asked for, and what was got."""
        for entry in entries:
            if "asked" in entry:
                self.requests[entry["asked"]] = Request(int(entry["count"]), float(entry["time"]))
            elif "got" in entry:
                self.requests[entry["got"]].ids = tuple(entry["ids"])

    def record_request(self, kind: str, count: int = 1) -> None:
        """Note that so many of a kind will be asked for. Raises HostError."""
        request = Request(count, time.time())
        self.append({"asked": kind, "count": count, "time": request.time})
        self.requests[kind] = request

    def record_ids(self, kind: str, ids: Sequence[str]) -> None:
        """Note what AWS has given; nothing, if it refused. Raises HostError."""
        self.requests[kind].ids = tuple(ids)
        self.append({"got": kind, "ids": list(ids)})

    def machines(self) -> dict[str, Request]:
        """The requests for machines, by type."""
        return {kind: asked for kind, asked in self.requests.items() if kind not in (KEY_PAIR, GROUP)}

    def machine_ids(self) -> list[str]:
        """The machines that AWS named."""
        return [one for request in self.machines().values() for one in request.ids or ()]
