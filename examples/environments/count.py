"""Count up in Redis at a steady pace, and tell how a client saw an outage: run by guest-killed.yaml."""

import json
import os
import socket
import sys
import time

PACE = 0.05  # seconds from one request to the next
ANSWER_WITHIN = 1.0  # seconds
CALM = 5.0  # seconds without an error, which come last


class Client:
    """A client that connects anew after each error."""

    def __init__(self, address: str, port: str, password: str) -> None:
        self._place, self._password = (address, int(port)), password
        self._socket: socket.socket | None = None

    def ask(self, *words: str) -> str:
        """The answer to a command, without its type. Raises OSError."""
        try:
            if self._socket is None:
                self._socket = socket.create_connection(self._place, ANSWER_WITHIN)
                self._send("AUTH", self._password)
            return self._send(*words)
        except OSError:
            if self._socket:
                self._socket.close()
            self._socket = None
            raise

    def _send(self, *words: str) -> str:
        parts = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
        self._socket.sendall(f"*{len(words)}\r\n{parts}".encode())
        line = self._socket.recv(4096).decode()
        if not line or line.startswith("-"):  # ended, or still loading its data
            raise ConnectionError(line or "the server ended the connection")
        return line.split("\r\n")[1 if line.startswith("$") else 0].lstrip("+:")


def is_reset(client: Client) -> bool:
    """Whether the count begins at 0; a machine that has just booted may take its time."""
    try:
        return client.ask("SET", "count", "0") == "OK"
    except OSError:
        return False


def main(seconds: float) -> None:
    """Count for so many seconds, and until all is calm, and print the figures."""
    client = Client(*(os.environ[f"STEELYARD_SERVICE_{name}"] for name in ("ADDRESS", "PORT", "PASSWORD")))
    while not is_reset(client):
        time.sleep(PACE)
    client.ask("GET", "count")  # a hit, which tells the timeline that the client is there
    last, end = time.monotonic(), time.monotonic() + seconds
    acknowledged = errors = 0
    longest = 0.0
    while time.monotonic() < end:
        try:
            client.ask("INCR", "count")
            now = time.monotonic()
            acknowledged, longest, last = acknowledged + 1, max(longest, now - last), now
        except OSError:
            errors, end = errors + 1, max(end, time.monotonic() + CALM)
        time.sleep(PACE)
    lost = max(0, acknowledged - int(client.ask("GET", "count")))
    print(json.dumps({"errors": errors, "longest_gap": longest, "lost": lost, "writes": acknowledged}))


main(float(sys.argv[1]))
