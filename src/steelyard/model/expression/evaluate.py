"""From the parts of an expression to a function of its names.

Functions of functions are several times faster than walking the parts, which counts where a `where` is
asked of every cell of a large space; and no code is ever generated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from steelyard.errors import did_you_mean
from steelyard.model.expression import nodes
from steelyard.model.expression.arithmetic import (
    ARITHMETIC,
    FUNCTIONS,
    NUMERIC,
    ORDER,
    among,
    bounded,
    describe,
    equal,
)
from steelyard.model.expression.error import ExpressionError, quoted

Names = Mapping[str, Any]
"""What the names stand for: numbers, texts, true, false, None."""

Evaluate = Callable[[Names], Any]
"""Gives the value of a part; raises ExpressionError."""


def compiled(node: nodes.Node) -> Evaluate:  # noqa: PLR0911 - one line per kind of part reads best
    """The function that evaluates a part and all that is below it."""
    match node:
        case nodes.Constant(value=value):
            return lambda _: value
        case nodes.Name():
            return _name(node)
        case nodes.Minus():
            return _minus(node)
        case nodes.Arithmetic():
            return _arithmetic(node)
        case nodes.Comparison():
            return _comparison(node)
        case nodes.Choices(items=items):
            choices = [compiled(item) for item in items]
            return lambda names: [choice(names) for choice in choices]
        case nodes.Logic():
            return _logic(node)
        case nodes.Not():
            holds = _condition(node.operand, "'not'", node.column)
            return lambda names: not holds(names)
        case nodes.Either():
            return _either(node)
        case nodes.Call():
            return _call(node)


def _name(node: nodes.Name) -> Evaluate:
    name, column = node.name, node.column

    def evaluate(names: Names) -> Any:
        try:
            return names[name]
        except KeyError:
            raise ExpressionError(_unknown(name, names), column) from None

    return evaluate


def _unknown(name: str, known: Iterable[str]) -> str:
    listed = ", ".join(sorted(known)[:10])
    hint = did_you_mean(name, [*known, "true", "false", "null"])
    return f"unknown name {quoted(name)}" + (hint or (listed and f"; known are {listed}"))


def _minus(node: nodes.Minus) -> Evaluate:
    operand, column = compiled(node.operand), node.column

    def evaluate(names: Names) -> Any:
        value = operand(names)
        if type(value) not in NUMERIC:
            raise _needs_numbers("'-'", [value], column)
        return -value

    return evaluate


def _arithmetic(node: nodes.Arithmetic) -> Evaluate:
    left, right = compiled(node.left), compiled(node.right)
    apply, sign, column = ARITHMETIC[node.sign], node.sign, node.column

    def evaluate(names: Names) -> Any:
        first, second = left(names), right(names)
        if type(first) not in NUMERIC or type(second) not in NUMERIC:
            raise _needs_numbers(f"'{sign}'", [first, second], column)
        try:
            return bounded(apply(first, second))
        except (ArithmeticError, ValueError) as error:
            raise _failed(error, column) from None

    return evaluate


def _call(node: nodes.Call) -> Evaluate:
    arguments = [compiled(argument) for argument in node.arguments]
    apply, function, column = FUNCTIONS[node.function].apply, node.function, node.column

    def evaluate(names: Names) -> Any:
        values = [argument(names) for argument in arguments]
        if not all(type(value) in NUMERIC for value in values):
            raise _needs_numbers(function, values, column)
        try:
            return bounded(apply(*values))
        except (ArithmeticError, ValueError) as error:
            raise _failed(error, column) from None

    return evaluate


def _comparison(node: nodes.Comparison) -> Evaluate:
    first = compiled(node.first)
    links = [(compiled(link.operand), _test(link)) for link in node.links]

    def evaluate(names: Names) -> bool:
        left = first(names)
        for operand, holds in links:
            right = operand(names)
            if not holds(left, right):
                return False
            left = right
        return True

    return evaluate


def _test(link: nodes.Link) -> Callable[[Any, Any], bool]:
    """The function behind a sign of comparison."""
    if link.sign in ORDER:
        return _order(link)
    return {
        "==": equal,
        "!=": lambda left, right: not equal(left, right),
        "in": among,
        "not in": lambda left, right: not among(left, right),
    }[link.sign]


def _order(link: nodes.Link) -> Callable[[Any, Any], bool]:
    apply, sign, column = ORDER[link.sign], link.sign, link.column

    def holds(left: Any, right: Any) -> bool:
        numbers = type(left) in NUMERIC and type(right) in NUMERIC
        if numbers or (isinstance(left, str) and isinstance(right, str)):
            return apply(left, right)
        message = f"'{sign}' cannot compare {describe(left)} with {describe(right)}"
        raise ExpressionError(message, column)

    return holds


def _logic(node: nodes.Logic) -> Evaluate:
    left = _condition(node.left, f"'{node.word}'", node.column)
    right = _condition(node.right, f"'{node.word}'", node.column)
    if node.word == "and":
        return lambda names: left(names) and right(names)
    return lambda names: left(names) or right(names)


def _either(node: nodes.Either) -> Evaluate:
    condition = _condition(node.condition, "'if'", node.column)
    then, other = compiled(node.then), compiled(node.other)
    return lambda names: then(names) if condition(names) else other(names)


def _condition(node: nodes.Node, where: str, column: int) -> Evaluate:
    """The function of a part that must be true or false."""
    function = compiled(node)

    def evaluate(names: Names) -> bool:
        value = function(names)
        if isinstance(value, bool):
            return value
        raise ExpressionError(f"{where} needs true or false, found {describe(value)}", column)

    return evaluate


def _needs_numbers(what: str, values: list[Any], column: int) -> ExpressionError:
    other = next(value for value in values if type(value) not in NUMERIC)
    return ExpressionError(f"{what} needs numbers, found {describe(other)}", column)


def _failed(error: Exception, column: int) -> ExpressionError:
    if isinstance(error, ZeroDivisionError):
        return ExpressionError("division by zero", column)
    if isinstance(error, OverflowError):
        return ExpressionError("the number is too large", column)
    return ExpressionError(str(error), column)
