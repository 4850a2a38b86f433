"""How long a session may last: a job ends at its scheduler's time limit, and must stop cleanly before it."""

from __future__ import annotations

import time

SPARE = 20.0
"""Seconds that are kept for cleaning up, and for the last lines of the record."""
LATE = "the time limit of its hosts was near"
"""Why a session ends then."""
_LONGER = 1.25


class TimeLimit:
    """The end of a session, `seconds_left` seconds from now; None when there is no end.

    The next trial is expected to take a quarter longer than the longest so far. `working_seconds` is how many
    seconds are left until everything must stop.
    """

    def __init__(self, left: float | None) -> None:
        self.working_seconds = None if left is None else max(0.0, left - SPARE)
        self._end = None if left is None else time.monotonic() + left
        self._longest = 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds from now until everything must stop; None when there is no end."""
        return None if self._end is None else max(0.0, self._end - SPARE - time.monotonic())

    def record_duration(self, seconds: float) -> None:
        """A trial took so long."""
        self._longest = max(self._longest, seconds)

    @property
    def is_reached(self) -> bool:
        """Whether another trial would probably not end in time."""
        return self._end is not None and time.monotonic() + _LONGER * self._longest + SPARE > self._end
