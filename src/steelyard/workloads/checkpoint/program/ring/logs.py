"""What units wrote down of their messages, and whether both ends of a channel say the same.

A log outlives its unit, and is no part of its state: it tells what happened.
"""

from __future__ import annotations

import os
import struct
from collections import Counter

from steelyard.workloads.checkpoint.program.faults import CheckpointFault

NUMBER = struct.Struct("<Q")
SENT, RECEIVED = "sent.log", "received.log"


class MessageLog:
    """Numbers, each on the disk's way at once: what is killed has told all."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)

    def note(self, number: int) -> None:
        """One more message. Raises OSError."""
        os.write(self._file, NUMBER.pack(number))


def read_runs(path: str) -> list[tuple[int, int]]:
    """The numbers of a log in their order, as first and last of each run of them. Raises OSError."""
    with open(path, "rb") as file:
        content = file.read()
    runs: list[tuple[int, int]] = []
    for (number,) in NUMBER.iter_unpack(content):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def check_channel(sent: list[tuple[int, int]], received: list[tuple[int, int]], name: str) -> int:
    """How many messages went through. Raises CheckpointFault unless each did once, in their order."""
    expected, came = expand(sent), expand(received)
    doubled_at_sender = sorted((Counter(expected) - Counter(set(expected))).keys())
    lost = sorted((Counter(expected) - Counter(came)).keys())
    doubled = sorted({*doubled_at_sender, *(Counter(came) - Counter(expected)).keys()})
    for numbers, how in ((lost, "lost"), (doubled, "doubled")):
        if numbers:
            shown = ", ".join(map(str, numbers[:5])) + (" …" if len(numbers) > 5 else "")
            raise CheckpointFault(f"{len(numbers)} messages {name} were {how}: {shown}")
    if came != list(range(1, len(came) + 1)):
        raise CheckpointFault(f"messages {name} came out of order")
    return len(came)


def expand(runs: list[tuple[int, int]]) -> list[int]:
    """All numbers again."""
    return [number for first, last in runs for number in range(first, last + 1)]
