"""A client for a few statements, in CQL's binary protocol, version 4; enough for tests."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from types import TracebackType
from typing import Self

ERROR, STARTUP, QUERY, RESULT, AUTH_RESPONSE = 0, 1, 7, 8, 0x0F
ROWS = 2
WRITE_TIMEOUT, READ_TIMEOUT = 0x1100, 0x1200
ATTEMPTS = 20  # of statements that change nothing when they are run twice, as all of these tests do


class Refused(Exception):
    """The server's own words."""


class TimedOut(Refused):
    """Nodes of a busy machine did not answer each other in the server's own time; drivers ask again."""


class Cql:
    """By TLS where an authority is given, whose server it must be."""

    def __init__(
        self, address: str, port: int, user: str, password: str, authority: str | None = None
    ) -> None:
        self._socket = socket.create_connection((address, port), 20)
        try:
            if authority:
                context = ssl.create_default_context(cadata=authority)
                self._socket = context.wrap_socket(self._socket, server_hostname=address)
            self._ask(STARTUP, struct.pack(">H", 1) + _text("CQL_VERSION") + _text("3.0.0"))
            token = f"\0{user}\0{password}".encode()
            self._ask(AUTH_RESPONSE, struct.pack(">i", len(token)) + token)
        except BaseException:
            self._socket.close()
            raise

    def run(self, statement: str, consistency: int = 4) -> int:
        """How many rows it gives. 1 is ONE, 4 is QUORUM, 5 is ALL."""
        return len(self.values(statement, consistency))

    def values(self, statement: str, consistency: int = 4) -> list[bytes]:
        """The last column of all rows that it gives; a null is empty."""
        answer = self._ask_again(statement.encode(), consistency)
        kind = struct.unpack_from(">i", answer)[0]
        return _last_column(answer) if kind == ROWS else []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def _ask_again(self, text: bytes, consistency: int) -> bytes:
        body = struct.pack(">i", len(text)) + text + struct.pack(">HB", consistency, 0)
        for _ in range(ATTEMPTS - 1):
            with contextlib.suppress(TimedOut):
                return self._ask(QUERY, body)
        return self._ask(QUERY, body)

    def _ask(self, operation: int, body: bytes) -> bytes:
        self._socket.sendall(struct.pack(">BBHBI", 4, 0, 0, operation, len(body)) + body)
        _, _, _, kind, size = struct.unpack(">BBHBI", self._exactly(9))
        answer = self._exactly(size)
        if kind == ERROR:
            late = struct.unpack_from(">i", answer)[0] in (WRITE_TIMEOUT, READ_TIMEOUT)
            size = struct.unpack_from(">H", answer, 4)[0]
            raise (TimedOut if late else Refused)(answer[6 : 6 + size].decode())
        return answer

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            part = self._socket.recv(size - len(found))
            if not part:
                raise ConnectionError("the server hung up")
            found += part
        return found


def _text(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def _last_column(answer: bytes) -> list[bytes]:
    """What follows the columns' names; all are of types without parameters."""
    flags, columns, at = *struct.unpack_from(">ii", answer, 4), 12
    assert flags & 1, "one table"
    assert not flags & 2, "one page"
    for _ in range(2):
        at += 2 + struct.unpack_from(">H", answer, at)[0]
    for _ in range(columns):
        at += 2 + struct.unpack_from(">H", answer, at)[0] + 2
    rows, at = struct.unpack_from(">i", answer, at)[0], at + 4
    values = []
    for _ in range(rows * columns):
        size = max(struct.unpack_from(">i", answer, at)[0], 0)
        values.append(answer[at + 4 : at + 4 + size])
        at += 4 + size
    return values[columns - 1 :: columns]
