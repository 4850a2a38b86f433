"""What the master tells of the file system, as mfscli prints it with `|` between the columns. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

QUESTION = ("-n", "-p", "-s|", "-SCS", "-SIC", "-SIG", "-SMO", "-m", "1")
"""Arguments of mfscli: chunk servers, health of chunks, totals, and operations of each mount in this hour."""

_UNHEALTHY = ("missing", "endangered", "undergoal")
_CLASSES = re.compile(r"all chunks matrix:\|chunkclass ([a-z ]+):\|(\d+)")
_TOTALS = re.compile(r"master info:\|([a-z ]+)\|(\d+)")
_SERVERS = re.compile(r"chunk servers:\|([\d.]+)\|(\d+)\|.*\|(\d+)\|(\d+)\|-?[^|]*\|\d+\|\d+\|\d+")
_MOUNTS = re.compile(r"active mounts, operations:\|.*\|(\d+)")


@dataclass(frozen=True, slots=True)
class MoosefsStatus:
    """`servers`: bytes in all of each connected chunk server, by its address. `chunks` by their health."""

    servers: Mapping[str, int] = field(default_factory=dict)
    chunks: Mapping[str, int] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    operations: int = 0

    @property
    def is_healthy(self) -> bool:
        """Whether every chunk has as many copies as it should; False where the master told nothing."""
        return bool(self.chunks) and not any(self.chunks.get(name, 0) for name in _UNHEALTHY)

    def meters(self) -> dict[str, float]:
        """The figures by our names; none where the master told nothing."""
        if not self.chunks:
            return {}
        figures: dict[str, float] = {
            "live_servers": len(self.servers),
            "total_bytes": self.totals.get("total space", 0),
            "free_bytes": self.totals.get("avail space", 0),
            "files": self.totals.get("files", 0),
            "chunks": self.totals.get("chunks", 0),
            "copies": self.totals.get("all chunk copies", 0),
            "operations": self.operations,
        }
        return {**figures, **{f"chunks_{name}": self.chunks.get(name, 0) for name in _UNHEALTHY}}


def read_status(text: str) -> MoosefsStatus:
    """From whatever mfscli printed: lines that are none of its own are left out."""
    lines = text.splitlines()
    servers = _match(_SERVERS, lines)
    return MoosefsStatus(
        {address: int(total) for address, _, _, total in servers},
        {name: int(count) for name, count in _match(_CLASSES, lines)},
        {name: int(count) for name, count in _match(_TOTALS, lines)},
        sum(int(count) for (count,) in _match(_MOUNTS, lines)),
    )


def _match(pattern: re.Pattern[str], lines: Sequence[str]) -> list[tuple[str, ...]]:
    return [match.groups() for line in lines if (match := pattern.fullmatch(line))]
