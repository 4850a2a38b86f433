"""Writes and reads small files steadily, and looks at the space meanwhile; one line of JSON for each look.

Fed to the interpreter of a host that has nothing of Steelyard, so it uses the standard library alone. Its
argument is a JSON document; the last line that it prints sums up. A request is due at its moment whatever
became of those before: its response time counts from then.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

LINGER = 5.0  # seconds that a request may still take when time is up


class Client:
    """Writes a block, syncs it, reads it back from another file written before, and compares.

    It has so many `files`, used in turn, so that the load takes no more space than these.
    """

    def __init__(self, block: int, interval: float, files: int) -> None:
        self.block, self.interval, self.files = block, interval, files
        self.began = self.last = time.monotonic()
        self.done = self.wrong = 0
        self.pause = 0.0
        self.errors: Counter[str] = Counter()
        self.responses: Counter[str] = Counter()
        self.written: dict[int, int] = {}
        self.end = threading.Event()

    def run(self) -> None:
        """One request after the other, each when it is due, until the end."""
        number = 0
        while not self.end.is_set():
            due = self.began + number * self.interval
            if self.end.wait(max(0.0, due - time.monotonic())):
                return
            try:
                self.request(number)
            except OSError as error:
                self.errors[error.strerror or type(error).__name__] += 1
            else:
                self.count(time.monotonic(), due)
            number += 1

    def count(self, now: float, due: float) -> None:
        """One more that succeeded."""
        self.done += 1
        self.pause, self.last = max(self.pause, now - self.last), now
        self.responses[f"{now - due:.3g}"] += 1

    def request(self, number: int) -> None:
        """Write to one file; read what another holds. Raises OSError."""
        place = number % self.files
        self.written.pop(place, None)
        descriptor = os.open(f"file-{place}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, self.content(number))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self.written[place] = number
        other = (number + 1) % self.files
        if other in self.written:
            self.wrong += Path(f"file-{other}").read_bytes() != self.content(self.written[other])

    def content(self, number: int) -> bytes:
        """What a request writes: no two write the same."""
        word = number.to_bytes(8, "little")
        return (word * (self.block >> 3) + word)[: self.block]


def look(client: Client, before: tuple[float, int]) -> tuple[float, int]:
    """Print the space now, and the requests since the look before. An error is printed in place of space."""
    line: dict[str, Any] = {"at": time.time()}
    try:
        space = os.statvfs(".")
        line["total"], line["free"] = space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize
    except OSError as error:
        line["error"] = error.strerror
    now, done = time.monotonic(), client.done
    line["length"], line["requests"] = now - before[0], done - before[1]
    print(json.dumps(line), flush=True)
    return now, done


def main() -> None:
    """Look at the space every so often while the client works."""
    asked = json.loads(sys.argv[1])
    client = Client(asked["block"], 1.0 / asked["rate"], asked["files"])
    worker = threading.Thread(target=client.run, daemon=True)
    worker.start()
    seen, end = (client.began, 0), client.began + asked["duration"]
    while time.monotonic() < end:
        time.sleep(max(0.0, min(asked["every"], end - time.monotonic())))
        seen = look(client, seen)
    client.end.set()
    worker.join(LINGER)
    now = time.monotonic()
    summary = {
        "seconds": now - client.began,
        "requests": client.done,
        "wrong": client.wrong,
        "errors": client.errors,
        "pause": max(client.pause, now - client.last),
        "responses": client.responses,
        "hung": worker.is_alive(),
    }
    print(json.dumps(summary), flush=True)
    os._exit(0)  # a request that hangs would hold the program


main()
