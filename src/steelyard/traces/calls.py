"""The calls that a trace knows, from the list that the recorder's library is compiled with."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

_LINE = re.compile(r"^CALL\((\d+), (\w+), (\w+)\)$", re.MULTILINE)
NAME, FOUND = 1, 2
"""Records that are no calls: a path in full, and a descriptor that was open before the library was there."""


class Call(NamedTuple):
    """A call: its number in segments, its name as in the C library, and what it does.

    `kind`: `open`, `close`, `read`, `write`, `copy`, `seek`, `sync`, `size`, `metadata`, `map`, or `note` for
    a record that is no call.
    """

    number: int
    name: str
    kind: str


@lru_cache(maxsize=1)
def list_calls() -> tuple[Call, ...]:
    """All of them, in the order of their numbers."""
    text = files("steelyard.traces").joinpath("calls.def").read_text("utf-8")
    return tuple(Call(int(number), name, kind) for number, name, kind in _LINE.findall(text))
