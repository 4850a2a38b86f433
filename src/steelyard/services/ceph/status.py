"""What a cluster of Ceph says of itself, as the watch beside it writes it down. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_STALE = 6.0  # seconds; it writes four times a second, and a question to a monitor takes three at most
# Storage daemons tell the manager once a second, and the manager the monitors: until then old news looks new.
_OLD_NEWS = 3.0
_CLEAN = {"active", "clean", "scrubbing", "deep", "snaptrim", "snaptrim_wait"}
_METERS = {
    "bytes_used": "used_bytes",
    "bytes_avail": "free_bytes",
    "bytes_total": "total_bytes",
    "data_bytes": "data_bytes",
    "num_objects": "objects",
    "degraded_objects": "degraded_objects",
    "misplaced_objects": "misplaced_objects",
    "recovering_bytes_per_sec": "recovery_bytes_per_second",
    "recovering_objects_per_sec": "recovery_objects_per_second",
    "read_bytes_sec": "read_bytes_per_second",
    "write_bytes_sec": "written_bytes_per_second",
    "read_op_per_sec": "reads_per_second",
    "write_op_per_sec": "writes_per_second",
}


@dataclass(frozen=True, slots=True)
class CephStatus:
    """`osds`: whether each is up and in, by its name; `boots`: in which of the cluster's epochs it came up
    last; `loads`: bytes that it stores.

    `age`: seconds since it was written; `unchanged`: seconds in which no daemon came or went.
    """

    status: Mapping[str, Any] = field(default_factory=dict)
    osds: Mapping[str, tuple[bool, bool]] = field(default_factory=dict)
    boots: Mapping[str, int] = field(default_factory=dict)
    loads: Mapping[str, int] = field(default_factory=dict)
    pgs: int = 0
    unchanged: float = 0.0
    age: float = _STALE

    @property
    def is_fresh(self) -> bool:
        """Whether the monitors said it just now."""
        return self.age < _STALE

    def has_monitor(self, name: str) -> bool:
        """Whether a monitor is one of the quorum."""
        return self.is_fresh and name in self.status.get("quorum_names", ())

    def has_manager(self) -> bool:
        """Whether there is a manager, who alone knows of placement groups."""
        return self.is_fresh and bool(self.status.get("mgrmap", {}).get("available"))

    def has_storage(self, name: str, after: int = 0) -> bool:
        """Whether a storage daemon is up and holds data, and came up after an epoch: monitors take some
        seconds to see that one has died.
        """
        is_up = self.osds.get(name) == (True, True)
        return self.is_fresh and is_up and self.boots.get(name, 0) > after

    def has_file_system(self, name: str = "") -> bool:
        """Whether a metadata server is active, or another stands by."""
        ranks = self.status.get("fsmap", {}).get("by_rank", ())
        active = [rank for rank in ranks if rank.get("status") == "up:active"]
        named = not name or any(rank.get("name") == name for rank in ranks)
        return self.is_fresh and bool(active) and (named or self.status["fsmap"].get("up:standby", 0) > 0)

    def is_clean(self, storage: Mapping[str, int]) -> bool:
        """Whether these storage daemons are in, each since after an epoch, no other, and every copy is where
        it belongs.
        """
        states = {
            one["state_name"]: one["count"] for one in self.status.get("pgmap", {}).get("pgs_by_state", ())
        }
        known = sum(states.values()) == self.pgs > 0
        clean = all({"active", "clean"} <= set(name.split("+")) <= _CLEAN for name in states)
        there = {name for name in self.osds if self.has_storage(name, storage.get(name, 0))}
        settled = self.has_manager() and self.unchanged >= _OLD_NEWS
        return settled and known and clean and there == set(storage)

    def describe(self) -> str:
        """Where its placement groups stand, for a message."""
        if not self.is_fresh:
            return "the monitors to answer"
        states = self.status.get("pgmap", {}).get("pgs_by_state", ())
        groups = ", ".join(f"{one['count']} {one['state_name']}" for one in states) or "none known"
        up = sum(up for up, _ in self.osds.values())
        return f"{self.pgs} placement groups to be active+clean ({groups}; {up} storage daemons are up)"

    def read_meters(self) -> dict[str, float]:
        """Figures of the cluster; what it leaves out is 0. None where nobody answers."""
        if not self.is_fresh:
            return {}
        pgmap = self.status.get("pgmap", {})
        live = float(sum(up for up, _ in self.osds.values()))
        return {"live_servers": live, **{ours: float(pgmap.get(name, 0)) for name, ours in _METERS.items()}}


def parse_status(said: str) -> CephStatus:
    """From the host's time and, in the next line, what the watch wrote; empty where it wrote nothing."""
    clock, _, text = said.partition("\n")
    try:
        state = json.loads(text)
        osds = {name: (bool(up), bool(within)) for name, (up, within, _) in state["osds"].items()}
        boots = {name: int(epoch) for name, (_, _, epoch) in state["osds"].items()}
        age = max(0.0, float(clock) - state["at"])
        return CephStatus(state["status"], osds, boots, state["loads"], state["pgs"], state["unchanged"], age)
    except (ValueError, KeyError, TypeError, AttributeError):
        return CephStatus()
