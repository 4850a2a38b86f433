"""Which cells a stop rule ended early: their intervals are sure in another way than those of all cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.stats.stopping import relative_half_width
from steelyard.units import Share


def has_stopped_early(repeat: Mapping[str, Any], trials: int, values: Sequence[float]) -> bool:
    """Whether a cell has fewer trials than it might, because the `values` of the rule's metric were precise.

    `repeat` is that of the run's design. The rule decides by a stricter interval than this, and did not in
    records from before that; a cell that was cut short while it was precise is taken for one that stopped.
    """
    until = repeat.get("until")
    if not isinstance(until, Mapping) or not values or not repeat["at_least"] <= trials < repeat["at_most"]:
        return False
    width = relative_half_width(values, Share.parse(until.get("confidence", 0.95)))
    return width is not None and width <= Share.parse(until["within"])
