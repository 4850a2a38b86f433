"""A trial: one execution of one cell; and what the store says of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

_AMBIGUOUS = re.compile(r"[\s=']|^$|^[-+.]?\d[\d.eE+-]*$|^(true|false|null)$")
Scalar = int | float | str | bool | None
Disturbed = Literal["include", "exclude"]
"""Whether trials count that something else disturbed, whatever was asked when they were made."""
FailureCategory = Literal[
    "tool-missing",  # the program is not on the host, or may not be executed
    "crashed",  # it ended with a code other than 0, or by a signal that we did not send
    "timed-out",  # it did not end in time and was ended
    "unreadable-output",  # its output is empty, truncated or garbage
    "disk-full",  # the test directory is full
    "store-full",  # no space where the records lie
    "host-failed",  # scratch, minder or host
    "service-failed",  # a service that the workload needs died, or did not come up
    "event-failed",  # an event of the timeline could not be carried out, or its condition never held
]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of levels. `key` names it in every record: `files=1 outstanding=64`.

    The key does not depend on the other cells, so an extended run finds its results again.
    """

    parameters: Mapping[str, Scalar]

    @property
    def key(self) -> str:
        """`name=value` in the order of the file, parted by blanks; `-` for the one cell of no parameters."""
        return " ".join(f"{name}={show_level(value)}" for name, value in self.parameters.items()) or "-"


@dataclass(frozen=True, slots=True)
class Trial:
    """One execution to be made: which cell, which of its repetitions (from 1)."""

    cell: Cell
    repetition: int

    @property
    def key(self) -> tuple[str, int]:
        """What identifies it in a run, also after a resume."""
        return (self.cell.key, self.repetition)

    def describe(self, between: str = ", ") -> str:
        """As people call it: `outstanding=64 files=1, repetition 7`."""
        cell = "" if self.cell.key == "-" else f"{self.cell.key}{between}"
        return f"{cell}repetition {self.repetition}"


@dataclass(frozen=True, slots=True)
class Result:
    """What the design and the statistics need of a finished trial.

    `metrics` hold scalars in base units. With `marks` that are not counted it is kept and shown, and never
    pooled. `seconds`: how long the trial took altogether, preparation included. `copies` counts the
    simultaneous instances of the measured workload over all hosts, `on` names those hosts; empty where the
    record does not say, which then means one copy on one host.
    """

    trial: Trial
    status: Literal["ok", "failed"]
    seconds: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    marks: tuple[Any, ...] = ()
    category: FailureCategory | None = None
    copies: int = 1
    on: tuple[str, ...] = ()

    @property
    def is_poolable(self) -> bool:
        """Whether its metrics may stand beside the others in a summary."""
        return self.status == "ok" and all(mark.counted for mark in self.marks)

    @property
    def is_disturbed(self) -> bool:
        """Whether it ended well and only a disturbance speaks against it, so that another one may count."""
        uncounted = [mark.kind for mark in self.marks if not mark.counted]
        return self.status == "ok" and set(uncounted) == {"disturbed"}


def show_level(value: Scalar) -> str:
    """A level as it stands in a cell's key; a string is quoted where it could be taken for another level."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return repr(value)
    if not _AMBIGUOUS.search(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"
