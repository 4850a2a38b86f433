"""Figures as bars of text, for a glance at a terminal."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 12
_HEIGHTS = "▁▂▃▄▅▆▇█"
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def draw_bars(values: Sequence[float | None]) -> list[str]:
    """A bar for each value, from zero, the largest as long as `WIDTH`; empty for none and below zero."""
    most = max((value for value in values if value), default=0.0)
    return [_draw_bar(value / most) if value and value > 0 else "" for value in values]


def draw_sparkline(values: Sequence[float]) -> str:
    """An upright bar for each value, from the smallest to the largest; all alike where the values are."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    most = len(_HEIGHTS) - 1
    return "".join(_HEIGHTS[min(most, int((value - low) / span * len(_HEIGHTS)))] for value in values)


def _draw_bar(share: float) -> str:
    """At least a sliver, so that what is there is seen."""
    eighths = max(1, round(share * WIDTH * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8]
