"""Ports for servers that are about to start. The standard library of Python is enough."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator

# Below the node ports of Kubernetes (30000 and up) and those that Linux gives to clients (32768 and up): of
# these, a client may take one between the look at it and the start of the server.
_RANGE = range(20_000, 30_000)


def draw_ports() -> Iterator[int]:
    """Ports that nobody of this machine uses, by chance, none twice."""
    return filter(_is_free, random.SystemRandom().sample(_RANGE, len(_RANGE)))


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("", port)).close()
    except OSError:
        return False
    return True
