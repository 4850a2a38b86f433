"""A condition that is asked again and again while a trial runs, of services' states and figures."""

from __future__ import annotations

from steelyard.model.expression import Expression
from steelyard.units import parse_quantity


def parse_condition(text: str) -> Expression:
    """`ring.settled`, `ring.load_bytes > 1GiB`, `write_latency_p99 > 50ms`: figures are in base units.

    Raises ExpressionError.
    """
    return Expression.parse(text, lambda quantity: parse_quantity(quantity).value, dotted=True)
