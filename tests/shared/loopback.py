"""Ports of 127.0.0.1, for servers that tests start."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from patience import until
from steelyard.hosts.unused.ports import PortClaims

HOST = "127.0.0.1"
# Where services take theirs: the kernel gives none of these to a client or to whoever asks for any port.
_RANGE = range(20_000, 32_000)
_CLAIMS = PortClaims()


def free_port() -> int:
    """A port that nobody else takes as long as this process lives: a server may start long afterwards."""
    drawn = random.SystemRandom().sample(_RANGE, len(_RANGE))
    return next(port for port in drawn if _is_free(port) and _CLAIMS.claim(port))


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("", port)).close()
    except OSError:
        return False
    return True


def listening(protocol: str, port: int) -> None:
    """Wait until the kernel's table has it: a connection might be taken for a client."""
    state = {"tcp": "0A", "udp": "07"}[protocol]

    def there() -> bool:
        lines = Path(f"/proc/net/{protocol}").read_text().splitlines()[1:]
        fields = (line.split() for line in lines)
        return any(each[1].endswith(f":{port:04X}") and each[3] == state for each in fields)

    assert until(there), f"nothing listens on {protocol} port {port}"
