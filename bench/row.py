"""One comparison, and its arithmetic: medians, spread, ratio, verdict."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Unit = Literal["s", "B", "%", "1"]
Verdict = Literal["within", "not within", "no limit", "not measured"]


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured (`ours`), what stood `beside` it (`theirs`), and the most that it may be (`limit`).

    `most` is the most that the ratio may be. What depends on the machine, as every time and every share of a
    core does, has no limit but that: it is told. So a limit of seconds is refused with a ValueError. Figures
    are in base units; `%` is a ratio that is shown as per cent. `foreign` is the share of all cores that
    others took in the meantime, 0 to 1.
    """

    name: str
    what: str
    unit: Unit
    ours: tuple[float, ...]
    beside: str = ""
    theirs: tuple[float, ...] = ()
    limit: float | None = None
    note: str = ""
    foreign: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and self.unit == "s":
            raise ValueError(f"{self.what}: a time is judged by its ratio to another, `most`")

    @property
    def ratio(self) -> float | None:
        """How many times theirs ours is; None where there is nothing to divide by."""
        return ratio(self.ours, self.theirs)

    @property
    def verdict(self) -> Verdict:
        """Whether the median of ours keeps the limit, and the ratio its own."""
        if not self.ours or (self.most is not None and self.ratio is None):
            return "not measured"
        if self.limit is None and self.most is None:
            return "no limit"
        kept = self.limit is None or statistics.median(self.ours) <= self.limit
        return "within" if kept and (self.most is None or (self.ratio or 0.0) <= self.most) else "not within"

    @property
    def missed(self) -> bool:
        """Whether it counts as a miss; what could not be measured does."""
        return self.verdict in ("not within", "not measured")


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """The median of the ratios turn by turn, so that a machine that slows down does so for both sides.

    Where there are not as many of one as of the other they were no turns: then the ratio of the medians.
    """
    if not ours or not theirs or min(theirs) <= 0:
        return None
    if len(ours) == len(theirs):
        return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    return statistics.median(ours) / statistics.median(theirs)


def percentile(figures: Sequence[float], percent: float) -> float:
    """The smallest figure that so many per cent of all do not exceed (nearest rank)."""
    ordered = sorted(figures)
    return ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1]


def minus(these: Sequence[float], those: Sequence[float]) -> tuple[float, ...]:
    """Turn by turn what is left of `these` beyond `those`. Raises ValueError when they were no turns."""
    return tuple(a - b for a, b in zip(these, those, strict=True))


def growth(few: float, many: float, between: int) -> float:
    """What one more costs, from the cost of few and of many; what is paid once falls out."""
    return (many - few) / between
