"""The arithmetic of expressions: numbers only, and never one too large to hold or to wait for.

Every function here raises ValueError with a sentence for the user; where it stands is the caller's to add.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from steelyard.model.expression.error import quote_text

MAX_INTEGER = 2**128
MAX_FLOAT = 1e30
_MAX_DIGITS = 30
"""How far `round` may look behind, or before, the point."""

NUMERIC = frozenset({int, float})
"""The types that count as numbers; true and false do not."""

Number = int | float


class Function(NamedTuple):
    """What an expression may call: how many arguments it takes and what it does."""

    min_arguments: int
    max_arguments: int
    apply: Callable[..., Any]

    @property
    def arity(self) -> str:
        """How many arguments it takes, for a message."""
        if self.min_arguments == self.max_arguments:
            return "takes 1 argument"
        return "takes 2 or more arguments" if self.min_arguments == 2 else "takes 1 or 2 arguments"


def describe(value: object) -> str:
    """A value for a message."""
    if isinstance(value, str):
        return f"text {quote_text(value)}"
    if value is None or isinstance(value, bool | Number):
        return format_value(value)
    return f"a {type(value).__name__}"


def format_value(value: object) -> str:
    """A value as text; true, false and null as YAML has them."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_range(result: Number) -> Number:
    """The result itself, if it is finite and of a size that figures of this world have."""
    limit = MAX_INTEGER if isinstance(result, int) else MAX_FLOAT
    if -limit < result < limit:
        return result
    raise ValueError("the number is too large: above 1e30, or 2**128 for a whole number")


def power(base: Number, exponent: Number) -> Number:
    """`base ** exponent`, refused before it is computed where the result would be too large."""
    size = math.log2(abs(base)) if base and math.isfinite(base) else 0.0
    if abs(size * exponent) > MAX_INTEGER.bit_length():
        what = "large" if size * exponent > 0 else "close to zero"
        raise ValueError(f"{describe(base)} ** {describe(exponent)} is too {what}")
    if base < 0 and not float(exponent).is_integer():
        raise ValueError(f"{describe(base)} ** {describe(exponent)} is not a real number")
    result: Number = base**exponent
    return result


def is_equal(left: object, right: object) -> bool:
    """Equality of values; true and false equal no number, unlike in Python."""
    return left == right and (isinstance(left, bool) == isinstance(right, bool))


def is_among(value: object, choices: list[object]) -> bool:
    """Whether a value equals one of the choices."""
    return any(is_equal(value, choice) for choice in choices)


def _round(value: Number, digits: Number | None = None) -> Number:
    if digits is None:
        return round(value)
    if not isinstance(digits, int) or abs(digits) > _MAX_DIGITS:
        raise ValueError(
            f"round takes a whole number of digits up to {_MAX_DIGITS}, found {describe(digits)}"
        )
    return round(value, digits)


def _log2(value: Number) -> float:
    if value <= 0:
        raise ValueError(f"log2 needs a number above 0, found {describe(value)}")
    return math.log2(value)


def _sqrt(value: Number) -> float:
    if value < 0:
        raise ValueError(f"sqrt needs a number of 0 or more, found {describe(value)}")
    return math.sqrt(value)


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": power,
}
ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": is_equal,
    "!=": lambda left, right: not is_equal(left, right),
    "in": is_among,
    "not in": lambda left, right: not is_among(left, right),
}
FUNCTIONS: dict[str, Function] = {
    "min": Function(2, 100, min),
    "max": Function(2, 100, max),
    "abs": Function(1, 1, abs),
    "round": Function(1, 2, _round),
    "ceil": Function(1, 1, math.ceil),
    "floor": Function(1, 1, math.floor),
    "int": Function(1, 1, int),
    "float": Function(1, 1, float),
    "log2": Function(1, 1, _log2),
    "sqrt": Function(1, 1, _sqrt),
}
