"""Plain words of a YAML file to values, by the core schema of YAML 1.2.2 (section 10.3.2).

The rules are ours and few on purpose: `on`, `yes` and `12:30` stay text, nothing becomes a date, and
nothing is ever constructed but None, bool, int, float and str.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date
from typing import Any

from steelyard.model.expression.error import quote_text

Scalar = None | bool | int | float | str

MAX_DIGITS = 30
"""Digits of a number; more are an identifier, or an attack on the conversion to binary."""

_CORE = "tag:yaml.org,2002:"
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt\s].*)?", re.DOTALL)


class ScalarError(ValueError):
    """A word looks like a number or a date, and is none that can be used."""


def resolve(text: str) -> Scalar:
    """The value of a plain (unquoted) scalar; raises ScalarError."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return _parse_integer(text)
    if _FLOAT.fullmatch(text) or _NOT_FINITE.fullmatch(text):
        return _parse_float(text)
    _refuse_impossible_date(text)
    return text


def tag_name(tag: str) -> str:
    """A resolved tag as a file would write it: `tag:yaml.org,2002:int` is `!!int`."""
    return "!!" + tag.removeprefix(_CORE) if tag.startswith(_CORE) else tag


def _parse_integer(text: str) -> int:
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    digits = text.lstrip("+-") if base == 10 else text[2:]
    _refuse_many_digits(len(digits), text)
    return int(text, base)


def _parse_float(text: str) -> float:
    _refuse_many_digits(sum(character.isdigit() for character in text), text)
    value = math.inf if _NOT_FINITE.fullmatch(text) else float(text)
    if not math.isfinite(value):
        raise ScalarError(f"{quote_text(text)}: numbers must be finite; quote it if it is meant as text")
    return value


def _refuse_many_digits(digits: int, text: str) -> None:
    if digits > MAX_DIGITS:
        raise ScalarError(
            f"{quote_text(text)}: the number has {digits:,} digits, but at most {MAX_DIGITS} are allowed; "
            "quote it if it is meant as text"
        )


def _refuse_impossible_date(text: str) -> None:
    match = _DATE.fullmatch(text)
    if not match:
        return
    year, month, day = map(int, match.groups())
    try:
        date(year, month, day)
    except ValueError:
        raise ScalarError(
            f"{quote_text(text)} looks like a date that does not exist; quote it if it is meant as text"
        ) from None


def _resolve_typed(tag: str, text: str, *kinds: type) -> Any:
    """What `resolve` gives, if it is of one of these very types."""
    value = resolve(text)
    if type(value) not in kinds:
        raise ScalarError(f"{quote_text(text)} does not match its tag '{tag}'")
    return value


SCALAR_TAGS: dict[str, Callable[[str], Scalar]] = {
    "!!str": str,
    "!!null": lambda text: _resolve_typed("!!null", text, type(None)),
    "!!bool": lambda text: _resolve_typed("!!bool", text, bool),
    "!!int": lambda text: _resolve_typed("!!int", text, int),
    "!!float": lambda text: float(_resolve_typed("!!float", text, int, float)),
}
"""How to read a scalar under each tag of the core schema; raises ScalarError."""
