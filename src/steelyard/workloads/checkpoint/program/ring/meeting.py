"""Where the copies of a workload meet: what each says, all hear, when all have said it.

The first copy keeps the place, at one port of its host's address. It lets in only who comes from a host of
the workload, each copy once; it gives them a secret, by which they know each other afterwards.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import threading
import time
from io import BufferedRWPair
from typing import Any

from steelyard.workloads.checkpoint.program.faults import CheckpointFault, describe_error
from steelyard.workloads.checkpoint.program.ring.channel import GREETING, PATIENCE, connect_to, listen_on

LONGEST = 1 << 26  # bytes of what one says
AGAIN = 0.05  # seconds until the first copy is asked again
SEAT = 8  # digits of the number with which a copy shows itself
GREET_WITHIN = 5.0  # seconds


def keep_table(asked: dict[str, Any]) -> threading.Thread:
    """What the first copy does before all meet; it ends when they leave. Raises CheckpointFault."""
    own, port = asked["address"], asked["ring"]["port"]
    try:
        listening = listen_on(own, port)
    except OSError as error:
        said = describe_error(f"listen on {own} port {port}", error)
        raise CheckpointFault(f"{said}; give `ring` another `port`") from error
    table = Table(listening, set(asked["peers"]), asked["copies"])
    keeping = threading.Thread(target=table.serve, daemon=True)
    keeping.start()
    return keeping


class Meeting:
    """The place of one copy at it. Raises CheckpointFault when others do not come or leave."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.copy, self.copies = asked["copy"], asked["copies"]
        self._own, self._first, self._port = asked["address"], asked["peers"][0], asked["ring"]["port"]
        self._channel = self._connect()
        self._file = self._channel.makefile("rwb")
        self._channel.sendall(f"{self.copy:0{SEAT}}".encode())
        self.secret: str = self._hear()[0]

    def gather(self, said: Any) -> list[Any]:
        """What all copies said, in their order."""
        try:
            self._file.write(json.dumps(said).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise CheckpointFault(describe_error("tell the other copies", error)) from error
        return self._hear()

    def leave(self) -> None:
        """The others hear of it if they still say something."""
        self._file.close()
        self._channel.close()

    def _hear(self) -> list[Any]:
        try:
            line = self._file.readline(LONGEST)
        except OSError as error:
            raise CheckpointFault(describe_error("hear the other copies", error)) from error
        if not line.endswith(b"\n"):
            raise CheckpointFault("another copy ended, or somebody else took the place of this one")
        heard: list[Any] = json.loads(line)
        return heard

    def _connect(self) -> socket.socket:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return connect_to(self._own, self._first, self._port)
            except OSError as error:
                if time.monotonic() > end:
                    raise CheckpointFault(
                        f"{describe_error('reach the first copy', error)} at {self._first} port {self._port}"
                    ) from error
                time.sleep(AGAIN)


class Table:
    """What the first copy keeps: one connection for each, and what all said handed on to all."""

    def __init__(self, listening: socket.socket, hosts: set[str], copies: int) -> None:
        self._listening, self._hosts, self._copies = listening, hosts, copies
        self._seats: dict[int, BufferedRWPair] = {}

    def serve(self) -> None:
        """Until one of them leaves; then the others hear nothing more."""
        with contextlib.ExitStack() as scope, contextlib.suppress(OSError, ValueError):
            scope.callback(self._listening.close)
            self._let_in(scope)
            files = [self._seats[copy] for copy in range(self._copies)]
            self._hand_on([secrets.token_hex(GREETING // 2)], files)
            while True:
                self._hand_on([json.loads(file.readline(LONGEST)) for file in files], files)

    def _let_in(self, scope: contextlib.ExitStack) -> None:
        """One connection for each copy. Raises OSError when not all come."""
        self._listening.settimeout(PATIENCE)
        while len(self._seats) < self._copies:
            channel, who = self._listening.accept()
            copy = self._greet(channel) if who[0] in self._hosts else None
            if copy is None or copy in self._seats:
                channel.close()
                continue
            scope.callback(channel.close)
            self._seats[copy] = scope.enter_context(channel.makefile("rwb"))

    def _greet(self, channel: socket.socket) -> int | None:
        """Which copy it is; None for a stranger."""
        channel.settimeout(GREET_WITHIN)
        try:
            copy = int(channel.recv(SEAT, socket.MSG_WAITALL))
        except (OSError, ValueError):
            return None
        channel.settimeout(None)
        return copy if 0 <= copy < self._copies else None

    def _hand_on(self, said: list[Any], files: list[BufferedRWPair]) -> None:
        line = json.dumps(said).encode() + b"\n"
        for file in reversed(files):  # the first copy, which ends with this, hears it last
            file.write(line)
            file.flush()
