"""Figures as text: one unit for a median and its interval, as many digits as tell its ends apart."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.stats.interval import Interval
from steelyard.units import parse_quantity

MORE_DECIMALS = 3
_LABELS = {
    "s": ("ns", "µs", "ms", "s", "min", "h"),
    "B": ("B", "KiB", "MiB", "GiB", "TiB", "PiB"),
    "B/s": ("B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s"),
    "1/s": ("/s", "k/s", "M/s", "G/s"),
    "%": ("%",),
}


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit to show figures in: `label` (GiB/s; empty for plain numbers) is `factor` base units."""

    label: str
    factor: float

    def number(self, value: float, digits: int = 3) -> str:
        """The bare number with at least so many significant digits."""
        return _round(value / self.factor, digits)

    def text(self, value: float, digits: int = 3) -> str:
        """The number with its unit: `2.05 GiB/s`, `5 %`, `3.1 k/s`, `7`."""
        return f"{self.number(value, digits)} {self.label}".rstrip()

    def exact_text(self, value: float, unit: str) -> str:
        """For a tooltip: rounded in this unit, and to the last digit in the base unit."""
        base = "" if unit in ("1", "%") else f" {unit.removeprefix('1')}"
        return f"{self.text(value, 5)} (exactly {value!r}{base})"


def scale_for(values: Iterable[float], unit: str) -> Scale:
    """The unit that suits the largest of the values; the smallest one of the kind when all are zero."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    labels = _LABELS.get(unit)
    if labels is None:
        return Scale("" if unit == "1" else unit, 1.0)
    scales = [Scale(label, parse_quantity(f"1 {label}").value) for label in labels]
    # 90 s stays in seconds: minutes and hours begin at three of them.
    fitting = [
        scale for scale in scales if largest >= scale.factor * (3 if scale.label in ("min", "h") else 1)
    ]
    if largest == 0 and unit == "s":
        return Scale("s", 1.0)
    return fitting[-1] if fitting else scales[0]


def show_interval(median: float, interval: Interval | None, unit: str) -> tuple[str, str]:
    """A median and its interval in one unit: `2.05 GiB/s` and `[1.96, 2.11]`; the latter may be empty.

    All three have as many decimals: three significant digits of the median, or more where the ends would
    look equal and are not.
    """
    scale = scale_for([median], unit)
    if interval is None:
        return scale.text(median), ""
    figures = [value / scale.factor for value in (median, interval.low, interval.high)]
    fewest = _decimals(figures[0] or max(map(abs, figures)), 3)
    for decimals in range(fewest, fewest + MORE_DECIMALS + 1):
        middle, low, high = (f"{value:.{decimals}f}" for value in figures)
        if low != high or math.isclose(interval.low, interval.high):
            break
    return f"{middle} {scale.label}".rstrip(), f"[{low}, {high}]"


def _decimals(value: float, digits: int) -> int:
    """How many decimals make so many significant digits."""
    return max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0


def _round(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    if not 1e-6 <= abs(value) < 1e16:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{_decimals(value, digits)}f}"
