"""How far a search has come: the levels that it measured, and the one it measures now."""

from __future__ import annotations

from typing import NamedTuple

Level = int | float


class Walk(NamedTuple):
    """How far a search has come. `current` is the level that it measures now; None when it is over."""

    finished_levels: tuple[Level, ...]
    current: Level | None
    below: Level | None
    above: Level | None

    @property
    def levels(self) -> tuple[Level, ...]:
        """All levels so far, in the order in which they were probed."""
        return self.finished_levels if self.current is None else (*self.finished_levels, self.current)
