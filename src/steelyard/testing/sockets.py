"""What processes of this machine listen on, by the kernel's own tables."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address
from pathlib import Path

_STATES = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
_LINE = re.compile(r"^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) [0-9A-F]+:0000 (\w\w) (?:\S+ +){5}(\d+)", re.MULTILINE)


def list_listeners(pids: Iterable[int]) -> set[tuple[str, int]]:
    """Addresses and ports; `0.0.0.0` and `::` are every address."""
    own, tables = set[str](), set[tuple[str, str]]()
    for pid in pids:  # each in the network that it is in
        own |= set(_inodes(pid))
        with contextlib.suppress(OSError):
            places = {table: Path(f"/proc/{pid}/net/{table}") for table in _STATES}
            tables |= {(table, place.read_text()) for table, place in places.items()}
    return {
        (_address(where), int(port, 16))
        for table, text in tables
        for where, port, is_in, inode in _LINE.findall(text)
        if is_in == _STATES[table] and inode in own
    }


def _inodes(pid: int) -> list[str]:
    inodes: list[str] = []
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                inodes += re.findall(r"^socket:\[(\d+)\]$", str(entry.readlink()))
    return inodes


def _address(text: str) -> str:
    """Of groups of four bytes, each with its last byte first."""
    packed = b"".join(bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8))
    address = ip_address(packed)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
