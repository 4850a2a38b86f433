"""Ports of 127.0.0.1, for servers that tests start."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def listening(protocol: str, port: int, seconds: float = 20.0) -> None:
    """Wait until the kernel's table has it: a connection might be taken for a client."""
    deadline = time.monotonic() + seconds
    state = {"tcp": "0A", "udp": "07"}[protocol]
    while time.monotonic() < deadline:
        for line in Path(f"/proc/net/{protocol}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(f":{port:04X}") and fields[3] == state:
                return
        time.sleep(0.02)
    pytest.fail(f"nothing listens on {protocol} port {port} after {seconds} s")
