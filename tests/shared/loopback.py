"""Ports of 127.0.0.1, for servers that tests start."""

from __future__ import annotations

import socket
from pathlib import Path

from patience import until

HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def listening(protocol: str, port: int) -> None:
    """Wait until the kernel's table has it: a connection might be taken for a client."""
    state = {"tcp": "0A", "udp": "07"}[protocol]

    def there() -> bool:
        lines = Path(f"/proc/net/{protocol}").read_text().splitlines()[1:]
        fields = (line.split() for line in lines)
        return any(each[1].endswith(f":{port:04X}") and each[3] == state for each in fields)

    assert until(there), f"nothing listens on {protocol} port {port}"
