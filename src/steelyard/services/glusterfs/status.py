"""What `gluster --xml` says of a volume. Pure.

The documents are flat, and a stranger's: they are searched for the elements that we know, not parsed, so that
nothing in them can be expanded.

Source: output of GlusterFS 10.3, recorded in `tests/data/services/glusterfs`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SUCCESS = re.compile(r"<opRet>0</opRet>")
_ERROR = re.compile(r"<opErrstr>([^<]*)</opErrstr>")
_NODE = re.compile(r"<node>(.*?)</node>", re.DOTALL)
_PEER = re.compile(r"<peer>(.*?)</peer>", re.DOTALL)
_HEALED = re.compile(r"<brick .*?<status>([^<]*)</status>\s*<numberOfEntries>(\d+|-)<", re.DOTALL)
_TASK = re.compile(r"<task>(.*?)</task>", re.DOTALL)
_RUNNING = "1"  # of a task


@dataclass(frozen=True, slots=True)
class Brick:
    """A brick, or a helper of the volume: `path` of a brick begins with a slash."""

    address: str
    path: str
    is_online: bool
    port: int
    total: int = 0
    free: int = 0


def is_success(text: str) -> bool:
    """Whether the command did what it was asked for."""
    return bool(_SUCCESS.search(text))


def find_error(text: str) -> str:
    """What it says went wrong."""
    match = _ERROR.search(text)
    return match[1] if match else ""


def read_bricks(text: str) -> list[Brick]:
    """Those of `volume status`, and with `detail` their sizes in bytes."""
    nodes = [_read_elements(node) for node in _NODE.findall(text)] if is_success(text) else []
    return [
        Brick(
            node.get("hostname", ""),
            node["path"],
            node.get("status") == "1",
            _read_number(node.get("port", "")),
            _read_number(node.get("sizeTotal", "")),
            _read_number(node.get("sizeFree", "")),
        )
        for node in nodes
        if node.get("path", "").startswith("/")
    ]


def is_rebalancing(text: str) -> bool:
    """Whether a task of `volume status` goes on."""
    tasks = (_read_elements(task) for task in _TASK.findall(text))
    return any(task.get("status") == _RUNNING for task in tasks)


def count_connected_peers(text: str) -> int:
    """Members of `pool list` that see each other; the one that is asked counts, too."""
    peers = [_read_elements(peer) for peer in _PEER.findall(text)] if is_success(text) else []
    return sum(peer.get("connected") == "1" and peer.get("state", "3") == "3" for peer in peers)


def count_unhealed(text: str) -> int | None:
    """Entries of `volume heal … info` that wait for a copy; None where a brick does not tell."""
    bricks = _HEALED.findall(text) if is_success(text) else []
    if not bricks or any(count == "-" for _, count in bricks):
        return None
    return sum(int(count) for _, count in bricks)


def count_known_unhealed(text: str) -> int:
    """The same of those bricks that tell."""
    return sum(int(count) for _, count in _HEALED.findall(text) if count != "-")


def _read_elements(text: str) -> dict[str, str]:
    return dict(re.findall(r"<(\w+)>([^<]*)</\1>", text))


def _read_number(text: str) -> int:
    return int(text) if re.fullmatch(r"\d{1,19}", text) else 0
