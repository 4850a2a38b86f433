"""The parameters of a run as axes: which are numbers, in which unit, and on which scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.errors import UnitError
from steelyard.model.trial import Cell, Scalar, show_level
from steelyard.units import Quantity, parse_quantity

DECADES_FOR_LOG = 1.5


@dataclass(frozen=True, slots=True)
class ParameterAxis:
    """A parameter. `levels` are its levels as text, in order; `places` are numbers for them, or None.

    Levels such as `4KiB` are numbers too, in `unit` (base units; `1` for plain ones). Numbers are in
    ascending order, other levels in that of the file.
    """

    name: str
    levels: tuple[str, ...]
    places: tuple[float, ...] | None
    unit: str

    @property
    def is_varying(self) -> bool:
        """Whether it has more than one level."""
        return len(self.levels) > 1

    @property
    def is_logarithmic(self) -> bool:
        """Whether its numbers are better read on a logarithmic scale: they span more than 1.5 decades."""
        if not self.places or self.places[0] <= 0:
            return False
        return math.log10(self.places[-1] / self.places[0]) > DECADES_FOR_LOG

    def place(self, level: str) -> float | str:
        """Where a level stands: its number, or the level itself on an axis without numbers."""
        return level if self.places is None else self.places[self.levels.index(level)]


def list_axes(cells: Iterable[Cell]) -> dict[str, ParameterAxis]:
    """All parameters of these cells by name, in the order of the file."""
    levels_by_name: dict[str, dict[str, Scalar]] = {}
    for cell in cells:
        for name, level in cell.parameters.items():
            levels_by_name.setdefault(name, {})[show_level(level)] = level
    return {name: _axis(name, levels) for name, levels in levels_by_name.items()}


def _axis(name: str, levels: Mapping[str, Scalar]) -> ParameterAxis:
    quantities = _quantities(list(levels.values()))
    if quantities is None:
        return ParameterAxis(name, tuple(levels), None, "1")
    ordered = sorted(zip(quantities, levels, strict=True))
    return ParameterAxis(
        name,
        tuple(label for _, label in ordered),
        tuple(quantity.value for quantity, _ in ordered),
        quantities[0].unit,
    )


def _quantities(levels: Sequence[Scalar]) -> list[Quantity] | None:
    """The levels as numbers of one unit, each another; None when they are not."""
    quantities = [_quantity(level) for level in levels]
    known = [quantity for quantity in quantities if quantity is not None]
    distinct = len({quantity.value for quantity in known}) == len(levels)
    return known if distinct and len({quantity.unit for quantity in known}) == 1 else None


def _quantity(level: Scalar) -> Quantity | None:
    if isinstance(level, str):
        try:
            return parse_quantity(level)
        except UnitError:
            return None
    if isinstance(level, bool) or level is None or not math.isfinite(level):
        return None
    return Quantity(float(level), "1")
