"""One expression: parsed once, evaluated as often as there are cells."""

from __future__ import annotations

from dataclasses import dataclass, field

from steelyard.model.expression.error import ExpressionError
from steelyard.model.expression.evaluate import Names, Term
from steelyard.model.expression.parser import Parser, Quantity

MAX_LENGTH = 1_000
"""Characters of one expression."""

Value = int | float | str | bool | None


@dataclass(frozen=True)
class Expression:
    """A parsed expression: its text, the names (parameters) that it asks for, and what it does."""

    text: str
    names: frozenset[str]
    _root: Term = field(compare=False, repr=False)

    @classmethod
    def parse(
        cls, text: str, quantity: Quantity | None = None, *, offset: int = 0, dotted: bool = False
    ) -> Expression:
        """Read an expression; `quantity` turns a number with a unit, such as `4MiB`, to base units.

        With `dotted` its names may have two parts, as in `ring.settled`.

        Raises ExpressionError, whose column counts from 1 in `text`; `offset` is added to every column,
        for an expression that stands inside a longer text.
        """
        if len(text) > MAX_LENGTH:
            message = f"an expression of {len(text):,} characters; at most {MAX_LENGTH:,} are allowed"
            raise ExpressionError(message, 1 + offset)
        parser = Parser(text, quantity, offset, dotted=dotted)
        root = parser.parse()
        return cls(text, frozenset(parser.names), root)

    @property
    def is_condition(self) -> bool:
        """Whether its value can only be true or false."""
        return self._root.is_condition

    def value(self, names: Names) -> Value:
        """The value for these parameters.

        Raises ExpressionError for an unknown name, values that do not suit an operator, division by
        zero, and numbers beyond 2**128 (whole ones) or 1e30 (others).
        """
        result: Value = self._root.evaluate(names)
        return result
