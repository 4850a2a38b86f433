"""One expression: parsed once, evaluated as often as there are cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from steelyard.model.expression.error import ExpressionError
from steelyard.model.expression.evaluate import Evaluate, Names, compile_node
from steelyard.model.expression.nodes import ComparisonChain, Logic, Node, Not
from steelyard.model.expression.parser import Parser, Quantity

MAX_LENGTH = 1_000
"""Characters of one expression."""

Value = int | float | str | bool | None


@dataclass(frozen=True)
class Expression:
    """A parsed expression: its text, its parts, and the names (parameters) that it asks for."""

    text: str
    root: Node
    names: frozenset[str]

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
        return cls(text, parser.parse(), frozenset(parser.names))

    @property
    def is_condition(self) -> bool:
        """Whether its value can only be true or false."""
        return isinstance(self.root, ComparisonChain | Logic | Not)

    def value(self, names: Names) -> Value:
        """The value for these parameters.

        Raises ExpressionError for an unknown name, values that do not suit an operator, division by
        zero, and numbers beyond 2**128 (whole ones) or 1e30 (others).
        """
        result: Value = self._evaluate(names)
        return result

    @cached_property
    def _evaluate(self) -> Evaluate:
        return compile_node(self.root)
