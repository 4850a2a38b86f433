"""Ports of 127.0.0.1, for servers that tests start."""

from __future__ import annotations

from pathlib import Path

from scripts.ports import draw_ports

from patience import until
from steelyard.hosts.unused.ports import PortClaims

HOST = "127.0.0.1"
_CLAIMS = PortClaims()


def free_port() -> int:
    """A port that nobody else takes as long as this process lives: a server may start long afterwards."""
    return next(filter(_CLAIMS.claim, draw_ports()))


def listening(protocol: str, port: int) -> None:
    """Wait until the kernel's table has it: a connection might be taken for a client."""
    state = {"tcp": "0A", "udp": "07"}[protocol]

    def there() -> bool:
        lines = Path(f"/proc/net/{protocol}").read_text().splitlines()[1:]
        fields = (line.split() for line in lines)
        return any(each[1].endswith(f":{port:04X}") and each[3] == state for each in fields)

    assert until(there), f"nothing listens on {protocol} port {port}"
