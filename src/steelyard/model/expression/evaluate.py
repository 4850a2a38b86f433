"""What the parts of an expression do: functions of its names.

Functions of functions are several times faster than walking the parts, which counts where a `where` is
asked of every cell of a large space; and no code is ever generated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from steelyard.errors import suggest_name
from steelyard.model.expression.arithmetic import (
    ARITHMETIC,
    COMPARISONS,
    FUNCTIONS,
    NUMERIC,
    ORDER,
    check_range,
    describe,
)
from steelyard.model.expression.error import ExpressionError, quote_text

Names = Mapping[str, Any]
"""What the names stand for: numbers, texts, true, false, None."""

Evaluate = Callable[[Names], Any]
"""Gives the value of a part; raises ExpressionError."""

Test = Callable[[Any, Any], bool]
"""Whether two values compare as a sign says."""


class Term(NamedTuple):
    """A part of an expression, and whether it can only be true or false."""

    evaluate: Evaluate
    is_condition: bool = False


def make_constant(value: object) -> Term:
    """A number, a text, true, false or null."""
    return Term(lambda _: value)


def make_name(name: str, column: int) -> Term:
    """A parameter."""

    def evaluate(names: Names) -> Any:
        try:
            return names[name]
        except KeyError:
            raise ExpressionError(_describe_unknown(name, names), column) from None

    return Term(evaluate)


def _describe_unknown(name: str, known: Iterable[str]) -> str:
    listed = ", ".join(sorted(known)[:10])
    hint = suggest_name(name, [*known, "true", "false", "null"])
    return f"unknown name {quote_text(name)}" + (hint or (listed and f"; known are {listed}"))


def make_minus(column: int, operand: Term) -> Term:
    """A number with its sign turned."""

    def evaluate(names: Names) -> Any:
        value = operand.evaluate(names)
        if type(value) not in NUMERIC:
            raise _operand_error("'-'", [value], column)
        return -value

    return Term(evaluate)


def make_arithmetic(sign: str, column: int, left: Term, right: Term) -> Term:
    """Two numbers to one: + - * / // % **."""
    (evaluate_left, _), (evaluate_right, _), apply = left, right, ARITHMETIC[sign]

    def evaluate(names: Names) -> Any:
        first, second = evaluate_left(names), evaluate_right(names)
        if type(first) not in NUMERIC or type(second) not in NUMERIC:
            raise _operand_error(f"'{sign}'", [first, second], column)
        try:
            return check_range(apply(first, second))
        except (ArithmeticError, ValueError) as error:
            raise _convert_error(error, column) from None

    return Term(evaluate)


def make_call(function: str, column: int, arguments: Sequence[Term]) -> Term:
    """A function of numbers."""
    apply = FUNCTIONS[function].apply

    def evaluate(names: Names) -> Any:
        values = [argument.evaluate(names) for argument in arguments]
        if not all(type(value) in NUMERIC for value in values):
            raise _operand_error(function, values, column)
        try:
            return check_range(apply(*values))
        except (ArithmeticError, ValueError) as error:
            raise _convert_error(error, column) from None

    return Term(evaluate)


def make_choices(items: Sequence[Term]) -> Term:
    """The list to the right of `in`."""
    return Term(lambda names: [item.evaluate(names) for item in items])


def make_comparison(first: Term, links: Sequence[tuple[Test, Term]]) -> Term:
    """`a < b <= c`: true if each link holds."""
    evaluate_first, pairs = first.evaluate, [(holds, operand.evaluate) for holds, operand in links]

    def evaluate(names: Names) -> bool:
        left = evaluate_first(names)
        for holds, evaluate_operand in pairs:
            right = evaluate_operand(names)
            if not holds(left, right):
                return False
            left = right
        return True

    return Term(evaluate, is_condition=True)


def make_test(sign: str, column: int) -> Test:
    """The function behind a sign of comparison, `in` or `not in`."""
    if sign in COMPARISONS:
        return COMPARISONS[sign]
    apply = ORDER[sign]

    def holds(left: Any, right: Any) -> bool:
        numbers = type(left) in NUMERIC and type(right) in NUMERIC
        if numbers or (isinstance(left, str) and isinstance(right, str)):
            return apply(left, right)
        message = f"'{sign}' cannot compare {describe(left)} with {describe(right)}"
        raise ExpressionError(message, column)

    return holds


def make_logic(word: str, column: int, left: Term, right: Term) -> Term:
    """`and`, `or`."""
    first, second = (_check_condition(side, f"'{word}'", column) for side in (left, right))
    if word == "and":
        return Term(lambda names: first(names) and second(names), is_condition=True)
    return Term(lambda names: first(names) or second(names), is_condition=True)


def make_not(column: int, operand: Term) -> Term:
    """The contrary."""
    holds = _check_condition(operand, "'not'", column)
    return Term(lambda names: not holds(names), is_condition=True)


def make_conditional(column: int, condition: Term, then: Term, other: Term) -> Term:
    """`then if condition else other`."""
    holds = _check_condition(condition, "'if'", column)
    return Term(lambda names: then.evaluate(names) if holds(names) else other.evaluate(names))


def _check_condition(term: Term, where: str, column: int) -> Evaluate:
    """The function of a part that must be true or false; only what can be another value is checked."""
    if term.is_condition:
        return term.evaluate

    def evaluate(names: Names) -> bool:
        value = term.evaluate(names)
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
