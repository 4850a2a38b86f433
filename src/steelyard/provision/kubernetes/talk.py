"""Whether two pods reach each other: a program that runs in them, of the standard library alone.

`listen ADDRESS` prints its port, and repeats to everybody what it hears. `try ADDRESS PORT` connects, and
prints in each round whether that open connection passes, and whether a new one does: 11, 10, 01 or 00.
"""

from __future__ import annotations

import select
import socket
import sys
import time

WAIT = 1.0


def echoes(peer: socket.socket) -> bool:
    """Whether something comes back in time; what comes late shows as well that a connection passes."""
    try:
        peer.send(b"x")
        return bool(select.select([peer], [], [], WAIT)[0] and peer.recv(64))
    except OSError:
        return False


def connects(to: tuple[str, int]) -> bool:
    """Whether a new connection can be made, and something comes back."""
    try:
        with socket.create_connection(to, timeout=WAIT) as peer:
            return echoes(peer)
    except OSError:
        return False


def listen(address: str) -> None:
    """Answer everybody, for ever."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    door = socket.create_server((address, 0), family=family)
    print(door.getsockname()[1], flush=True)  # noqa: T201 - a program
    peers = [door]
    while True:
        for one in select.select(peers, [], [])[0]:
            if one is door:
                peers.append(door.accept()[0])
            elif not repeat(one):
                peers.remove(one)
                one.close()


def repeat(peer: socket.socket) -> bool:
    """Say what it said; False when it is gone."""
    try:
        heard = peer.recv(64)
        peer.send(heard)
    except OSError:
        return False
    return bool(heard)


def attempt(to: tuple[str, int]) -> None:
    """Tell what passes, for ever."""
    peer = socket.create_connection(to, timeout=10 * WAIT)
    while True:
        print(f"{echoes(peer):d}{connects(to):d}", flush=True)  # noqa: T201
        time.sleep(WAIT / 4)


if __name__ == "__main__":
    if sys.argv[1] == "listen":
        listen(sys.argv[2])
    else:
        attempt((sys.argv[2], int(sys.argv[3])))
