"""From the parts of an expression to a function of its names.

Functions of functions are several times faster than walking the parts, which counts where a `where` is
asked of every cell of a large space; and no code is ever generated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from steelyard.errors import suggest_name
from steelyard.model.expression import nodes
from steelyard.model.expression.arithmetic import (
    ARITHMETIC,
    FUNCTIONS,
    NUMERIC,
    ORDER,
    check_range,
    describe,
    is_among,
    is_equal,
)
from steelyard.model.expression.error import ExpressionError, quote_text

Names = Mapping[str, Any]
"""What the names stand for: numbers, texts, true, false, None."""

Evaluate = Callable[[Names], Any]
"""Gives the value of a part; raises ExpressionError."""


def compile_node(node: nodes.Node) -> Evaluate:  # noqa: PLR0911 - one line per kind of part reads best
    """The function that evaluates a part and all that is below it."""
    match node:
        case nodes.Constant(value=value):
            return lambda _: value
        case nodes.Name():
            return _compile_name(node)
        case nodes.Minus():
            return _compile_minus(node)
        case nodes.Arithmetic():
            return _compile_arithmetic(node)
        case nodes.ComparisonChain():
            return _compile_comparison(node)
        case nodes.ChoiceList(items=items):
            choices = [compile_node(item) for item in items]
            return lambda names: [choice(names) for choice in choices]
        case nodes.Logic():
            return _compile_logic(node)
        case nodes.Not():
            holds = _compile_condition(node.operand, "'not'", node.column)
            return lambda names: not holds(names)
        case nodes.Conditional():
            return _compile_conditional(node)
        case nodes.Call():
            return _compile_call(node)


def _compile_name(node: nodes.Name) -> Evaluate:
    name, column = node.name, node.column

    def evaluate(names: Names) -> Any:
        try:
            return names[name]
        except KeyError:
            raise ExpressionError(_describe_unknown(name, names), column) from None

    return evaluate


def _describe_unknown(name: str, known: Iterable[str]) -> str:
    listed = ", ".join(sorted(known)[:10])
    hint = suggest_name(name, [*known, "true", "false", "null"])
    return f"unknown name {quote_text(name)}" + (hint or (listed and f"; known are {listed}"))


def _compile_minus(node: nodes.Minus) -> Evaluate:
    operand, column = compile_node(node.operand), node.column

    def evaluate(names: Names) -> Any:
        value = operand(names)
        if type(value) not in NUMERIC:
            raise _operand_error("'-'", [value], column)
        return -value

    return evaluate


def _compile_arithmetic(node: nodes.Arithmetic) -> Evaluate:
    left, right = compile_node(node.left), compile_node(node.right)
    apply, sign, column = ARITHMETIC[node.sign], node.sign, node.column

    def evaluate(names: Names) -> Any:
        first, second = left(names), right(names)
        if type(first) not in NUMERIC or type(second) not in NUMERIC:
            raise _operand_error(f"'{sign}'", [first, second], column)
        try:
            return check_range(apply(first, second))
        except (ArithmeticError, ValueError) as error:
            raise _convert_error(error, column) from None

    return evaluate


def _compile_call(node: nodes.Call) -> Evaluate:
    arguments = [compile_node(argument) for argument in node.arguments]
    apply, function, column = FUNCTIONS[node.function].apply, node.function, node.column

    def evaluate(names: Names) -> Any:
        values = [argument(names) for argument in arguments]
        if not all(type(value) in NUMERIC for value in values):
            raise _operand_error(function, values, column)
        try:
            return check_range(apply(*values))
        except (ArithmeticError, ValueError) as error:
            raise _convert_error(error, column) from None

    return evaluate


def _compile_comparison(node: nodes.ComparisonChain) -> Evaluate:
    first = compile_node(node.first)
    links = [(compile_node(link.operand), _select_test(link)) for link in node.links]

    def evaluate(names: Names) -> bool:
        left = first(names)
        for operand, holds in links:
            right = operand(names)
            if not holds(left, right):
                return False
            left = right
        return True

    return evaluate


def _select_test(link: nodes.Link) -> Callable[[Any, Any], bool]:
    """The function behind a sign of comparison."""
    if link.sign in ORDER:
        return _compile_order(link)
    return {
        "==": is_equal,
        "!=": lambda left, right: not is_equal(left, right),
        "in": is_among,
        "not in": lambda left, right: not is_among(left, right),
    }[link.sign]


def _compile_order(link: nodes.Link) -> Callable[[Any, Any], bool]:
    apply, sign, column = ORDER[link.sign], link.sign, link.column

    def holds(left: Any, right: Any) -> bool:
        numbers = type(left) in NUMERIC and type(right) in NUMERIC
        if numbers or (isinstance(left, str) and isinstance(right, str)):
            return apply(left, right)
        message = f"'{sign}' cannot compare {describe(left)} with {describe(right)}"
        raise ExpressionError(message, column)

    return holds


def _compile_logic(node: nodes.Logic) -> Evaluate:
    left = _compile_condition(node.left, f"'{node.word}'", node.column)
    right = _compile_condition(node.right, f"'{node.word}'", node.column)
    if node.word == "and":
        return lambda names: left(names) and right(names)
    return lambda names: left(names) or right(names)


def _compile_conditional(node: nodes.Conditional) -> Evaluate:
    condition = _compile_condition(node.condition, "'if'", node.column)
    then, other = compile_node(node.then), compile_node(node.other)
    return lambda names: then(names) if condition(names) else other(names)


def _compile_condition(node: nodes.Node, where: str, column: int) -> Evaluate:
    """The function of a part that must be true or false."""
    function = compile_node(node)

    def evaluate(names: Names) -> bool:
        value = function(names)
        if isinstance(value, bool):
            return value
        raise ExpressionError(f"{where} needs true or false, found {describe(value)}", column)

    return evaluate


def _operand_error(what: str, values: list[Any], column: int) -> ExpressionError:
    other = next(value for value in values if type(value) not in NUMERIC)
    return ExpressionError(f"{what} needs numbers, found {describe(other)}", column)


def _convert_error(error: Exception, column: int) -> ExpressionError:
    if isinstance(error, ZeroDivisionError):
        return ExpressionError("division by zero", column)
    if isinstance(error, OverflowError):
        return ExpressionError("the number is too large", column)
    return ExpressionError(str(error), column)
