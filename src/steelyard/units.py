"""Values with units: parse what people write, print what people read.

Inside the program every figure is in base units: bytes, seconds, per second, bytes per second, or a plain
ratio. `Size`, `Duration`, `Rate` and `Frequency` are those numbers with a name; pydantic reads them from
strings. Decimal prefixes count in thousands (kB, MB, GB), binary ones in 1024s (KiB, MiB, GiB), as IEC
80000-13 has it; the bare `1G` of many tools means either and is refused.

Metrics may be in other words, too, such as `GFLOP/s` or `W` (`model.unit`).
"""

from __future__ import annotations

import math
import re
from typing import Any, ClassVar, NamedTuple, Self

from steelyard.errors import UnitError

_DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_PREFIX = {"": 1, **_DECIMAL, **_BINARY}
_PREFIXED = {"B": _BINARY, "B/s": _BINARY, "1/s": _DECIMAL}
_TIME = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
KNOWN = frozenset({*_TIME, *(f"{p}{w}{s}" for p in _PREFIX for w in ("B", "bit") for s in ("", "/s"))})
"""The words for bytes, times and bytes a second; no number stands before them."""
_QUANTITY = re.compile(r"\s*([-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*([^\s\d].*?)?\s*")


class Quantity(NamedTuple):
    """A number in base units and its unit: `B`, `s`, `B/s`, `1/s` or `1`; or a word, where any is read."""

    value: float
    unit: str


def parse_quantity(text: str) -> Quantity:
    """Read `200 MiB/s`, `50ms`, `5 %`, `2000/s`, `3 Gbit/s` or `7`. Raises UnitError."""
    value, unit = split_quantity(text)
    factor, base = _parse_unit(unit, text)
    if not math.isfinite(value * factor):
        raise UnitError(f"'{text}' is too large")
    return Quantity(value * factor, base)


def split_quantity(text: str) -> Quantity:
    """The number and the word behind it, as they stand; the word may be empty. Raises UnitError."""
    match = _QUANTITY.fullmatch(text) if len(text) <= 60 else None
    if not match:
        raise UnitError(f"'{text[:40]}' is not a number with a unit; for example '200 MiB/s' or '50 ms'")
    digits = match[1].replace("_", "")
    value = int(digits) if digits.lstrip("+-").isdigit() else float(digits)  # large sizes stay exact
    return Quantity(value, match[2] or "")


def _parse_unit(unit: str, text: str) -> tuple[float, str]:
    if unit in ("", "%"):
        return (0.01 if unit else 1.0), "1"
    if unit in _TIME:
        return _TIME[unit], "s"
    amount, slash, per = unit.partition("/")
    if slash and per.strip() != "s":
        raise UnitError(f"'{text}': a rate is per second, written '/s'")
    prefix, word = _split(amount.strip())
    if word is None:
        raise UnitError(f"'{text}': unknown unit '{unit}'{_suggest_unit(unit)}")
    if word == "" and not slash:
        raise UnitError(f"'{text}': unknown unit '{unit}'{_suggest_unit(unit)}")
    return _scale_unit(prefix, word, bool(slash))


def _split(amount: str) -> tuple[float, str | None]:
    for word in ("bit", "B", ""):
        if amount.endswith(word) and amount[: len(amount) - len(word)] in _PREFIX:
            return _PREFIX[amount[: len(amount) - len(word)]], word
    return 1.0, None


def _scale_unit(prefix: float, word: str, rate: bool) -> tuple[float, str]:
    factor = prefix / 8 if word == "bit" else prefix
    base = "B" if word else "1"
    return factor, f"{base}/s" if rate else base


def _suggest_unit(unit: str) -> str:
    letter = unit[:1].upper()
    if letter in ("K", "M", "G", "T", "P") and len(unit) <= 2:
        small = letter.lower() if letter == "K" else letter
        return f"; write '{letter}iB' for units of 1024 or '{small}B' for units of 1000"
    return "; sizes: B kB MiB GiB …, times: ns us ms s min h d, rates: MiB/s Gbit/s 1/s"


class _Measure:
    """What `Size`, `Duration` and `Rate` share: reading from a string, a JSON Schema of their own.

    `bare` is the unit of a plain number, where that can mean but one thing.
    """

    unit: ClassVar[tuple[str, ...]]
    example: ClassVar[str]
    word: ClassVar[str]
    bare: ClassVar[str | None] = None

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a string with a unit (or an instance). Raises UnitError naming an example."""
        if isinstance(text, cls):
            return text
        if cls.bare is not None and isinstance(text, int | float) and not isinstance(text, bool):
            text = f"{text!r}{cls.bare}"
        if isinstance(text, bool) or not isinstance(text, str):
            raise UnitError(f"{text!r} has no unit; write a {cls.word} such as '{cls.example}'")
        quantity = parse_quantity(text)
        if quantity.unit not in cls.unit:
            raise UnitError(f"'{text}' is not a {cls.word}; for example '{cls.example}'")
        if quantity.value < 0:
            raise UnitError(f"'{text}': a {cls.word} must not be negative")
        return cls(quantity.value)  # type: ignore[call-arg]

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: Any) -> dict[str, Any]:
        kind: Any = "string" if cls.bare is None else ["string", "number"]
        return {"type": kind, "title": cls.__name__, "examples": [cls.example]}


class Size(_Measure, int):
    """An amount of bytes, from `4MiB`."""

    unit, example, word = ("B",), "4MiB", "size"

    def __str__(self) -> str:
        """Exact, and readable again by `parse`."""
        for prefix, factor in reversed(_BINARY.items()):
            if self and not self % factor:
                return f"{int(self) // factor}{prefix}B"
        return f"{int(self)}B"


class Duration(_Measure, float):
    """A time in seconds, from `5s`, `30min`."""

    unit, example, word = ("s",), "5s", "duration"

    def __str__(self) -> str:
        return f"{float(self):.12g}s"


class Rate(_Measure, float):
    """Bytes per second, from `200MiB/s`."""

    unit, example, word = ("B/s",), "200MiB/s", "rate"

    def __str__(self) -> str:
        return f"{float(self):.15g}B/s"


class Frequency(_Measure, float):
    """Things per second, from `2000/s` or 2000."""

    unit, example, word, bare = ("1/s",), "2000/s", "rate", "/s"

    def __str__(self) -> str:
        return f"{float(self):.15g}/s"


class Share(_Measure, float):
    """A ratio, from `5%` or 0.05."""

    unit, example, word, bare = ("1",), "5%", "share", ""

    def __str__(self) -> str:
        return f"{float(self) * 100:.12g}%"


def show(value: float, unit: str, *, digits: int = 3) -> str:
    """A figure in base units as people read it: `show(2.2e9, "B/s")` is `2.05 GiB/s`."""
    if not math.isfinite(value):
        return "–"
    if unit == "s":
        return _show_time(value, digits)
    if unit in _PREFIXED:
        return _show_prefixed(value, _PREFIXED[unit], unit, digits)
    if unit == "%":
        return f"{_round(value * 100, digits)} %"
    return _round(value, digits) + (f" {unit}" if unit != "1" else "")


def show_span(seconds: float) -> str:
    """A span of time as a clock shows it: `4:51`, `1:02:03`."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _show_time(value: float, digits: int) -> str:
    for name, factor in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(value) >= factor * (3 if factor > 1 else 1):
            return f"{_round(value / factor, digits)} {name}"
    return f"{_round(value * 1e9, digits)} ns" if value else "0 s"


def _show_prefixed(value: float, prefixes: dict[str, int], unit: str, digits: int) -> str:
    joined = unit.removeprefix("1")
    for prefix, factor in reversed(prefixes.items()):
        if abs(value) >= factor:
            return f"{_round(value / factor, digits)} {prefix}{joined}"
    return (
        f"{_round(value, digits)} {joined}"
        if not joined.startswith("/")
        else f"{_round(value, digits)}{joined}"
    )


def _round(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(decimals, 12)}f}"


def format_count(count: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
