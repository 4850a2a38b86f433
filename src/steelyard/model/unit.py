"""Units of metrics: those that we know and scale, and any other word, in which figures stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.errors import UnitError
from steelyard.units import KNOWN, Quantity, parse_quantity, split_quantity

_WORD = re.compile(r"[^\W\d_][\w/%·^*-]{0,23}")
_MISSPELT = frozenset(word.casefold() for word in KNOWN if len(word) > 1)
_PREFIXES = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_ALONE = frozenset({"K", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"})
_COUNTED = ("k", "M", "G", "T", "P")


def base_unit(unit: str) -> Quantity:
    """What one of a unit is: `Quantity(0.001, "s")` for ms, `Quantity(1, "GFLOP/s")` for a word of its own.

    Percentages keep their unit, as they are ratios that are shown as such. Raises UnitError.
    """
    if unit == "%":
        return Quantity(0.01, "%")
    try:
        return read_quantity(unit if unit.startswith("1") else f"1 {unit}")
    except UnitError as error:
        raise UnitError(error.message.removeprefix(f"'1 {unit}': ")) from None


def read_quantity(text: str) -> Quantity:
    """As `parse_quantity`, and `2 GFLOP/s` in its own unit. Raises UnitError."""
    value, unit = split_quantity(text)
    if _WORD.fullmatch(unit) and not _is_known(unit):
        return Quantity(value, unit)
    return parse_quantity(text)


def convert_number(text: str, unit: str) -> float:
    """A number with or without its unit, as a tool prints it (`43.99ms`), in the base unit of `unit`.

    A bare number is in `unit`. A bare `k` or `M` means thousands where no bytes are counted. Raises UnitError
    for what is no number, and for a unit of another kind.
    """
    value, word = split_quantity(text)
    one = base_unit(unit)
    if not word:
        return value * one.value
    if word in _COUNTED and one.unit not in ("B", "B/s"):
        return value * _PREFIXES[word] * one.value
    try:
        quantity = read_quantity(text)
    except UnitError as error:
        raise UnitError(f"{error.message}; or extract only the number and set its unit") from None
    if quantity.unit == one.unit or (quantity.unit, one.unit) == ("1", "%"):
        return quantity.value
    factor = _factor(quantity.unit, one.unit)
    if factor is None:
        raise UnitError(f"found '{text.strip()}', but {word} is not the declared unit {unit}")
    return quantity.value * factor


def _is_known(unit: str) -> bool:
    """Whether a word is one of our units, perhaps misspelt (`KB` means either), or a prefix alone."""
    return unit in KNOWN or unit in _ALONE or unit.casefold() in _MISSPELT


def _factor(unit: str, wanted: str) -> float | None:
    """How many `wanted` one of a word is, where they differ in an SI prefix alone; else None."""
    stems = dict(_stems(wanted))
    return next((factor / stems[stem] for stem, factor in _stems(unit) if stem in stems), None)


def _stems(unit: str) -> Iterator[tuple[str, float]]:
    """A word with and without what may be an SI prefix: `mW` is also 0.001 `W`."""
    yield unit, 1.0
    if unit[:1] in _PREFIXES and unit[1:2].isalpha():
        yield unit[1:], _PREFIXES[unit[0]]
