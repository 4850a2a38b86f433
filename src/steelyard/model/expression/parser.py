"""From the words of an expression to what it does, by precedence climbing (Pratt, "Top down operator
precedence", POPL 1973). Precedence and grouping are Python's, as is the meaning of a chain `a < b < c`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from steelyard.errors import suggest_name
from steelyard.model.expression import evaluate
from steelyard.model.expression.arithmetic import FUNCTIONS, check_range
from steelyard.model.expression.error import ExpressionError, quote_text
from steelyard.model.expression.evaluate import Term
from steelyard.model.expression.tokens import ExpressionToken, tokenize

MAX_NESTING = 50
MAX_OPERATORS = 100
MAX_DIGITS = 30

Quantity = Callable[[str], float]
"""Reads a number with a unit, `4MiB`, to base units; raises ValueError."""

_ANY, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER = range(1, 10)
_LEVELS = {
    "if": _ANY,
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in", "not"), _COMPARE),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("*", "/", "//", "%"), _PRODUCT),
    "**": _POWER,
}
"""How tightly what may follow a value binds."""
_CONSTANTS = {"true": True, "false": False, "null": None}
_PLAIN_NUMBER = re.compile(r"[0-9.]+(?:[eE][-+]?[0-9]+)?")


class Parser:
    """Reads one expression; `parse` is to be called once, and then `names` holds its names."""

    def __init__(
        self, text: str, quantity: Quantity | None, offset: int = 0, *, dotted: bool = False
    ) -> None:
        self.names: set[str] = set()
        self._tokens = tokenize(text, offset, dotted=dotted)
        self._at = 0
        self._depth = 0
        self._operators = 0
        self._quantity = quantity

    def parse(self) -> Term:
        """The whole expression. Raises ExpressionError."""
        if self._next_token.kind == "end":
            raise ExpressionError("the expression is empty", self._next_token.column)
        term = self._parse_operation(_ANY)
        if self._next_token.kind != "end":
            raise self._syntax_error("an operator or the end")
        return term

    @property
    def _next_token(self) -> ExpressionToken:
        return self._tokens[self._at]

    @property
    def _next_level(self) -> int:
        return _LEVELS.get(self._next_token.text, 0)

    def _take(self) -> ExpressionToken:
        self._at += 1
        return self._tokens[self._at - 1]

    def _take_operator(self) -> ExpressionToken:
        self._operators += 1
        if self._operators > MAX_OPERATORS:
            message = f"more than {MAX_OPERATORS} operators in one expression"
            raise ExpressionError(message, self._next_token.column)
        return self._take()

    def _accept(self, word: str) -> bool:
        accepted = self._next_token.text == word
        self._at += accepted
        return accepted

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            raise self._syntax_error(f"'{word}'")

    def _syntax_error(self, expected: str) -> ExpressionError:
        token = self._next_token
        if token.text == "[" and self._at and self._tokens[self._at - 1].kind == "name":
            return ExpressionError("'[' is not allowed here: names cannot have parts", token.column)
        actual = "the end" if token.kind == "end" else quote_text(token.text)
        return ExpressionError(f"expected {expected}, found {actual}", token.column)

    def _parse_operation(self, least: int) -> Term:
        """A value and all operators behind it that bind at least this tightly."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise ExpressionError(f"nested more than {MAX_NESTING} deep", self._next_token.column)
        term = self._parse_operand(least)
        while (level := self._next_level) >= least:
            term = self._parse_rest(term, level)
        self._depth -= 1
        return term

    def _parse_rest(self, left: Term, level: int) -> Term:
        """What follows a value, from its operator on."""
        if level == _COMPARE:
            return self._parse_comparison(left)
        sign, column = self._take_operator()[1:]
        if level == _ANY:
            condition = self._parse_operation(_OR)
            self._expect("else")
            return evaluate.make_conditional(column, condition, left, self._parse_operation(_ANY))
        right = self._parse_operation(level if level == _POWER else level + 1)
        make = evaluate.make_logic if level in {_OR, _AND} else evaluate.make_arithmetic
        return make(sign, column, left, right)

    def _parse_comparison(self, first: Term) -> Term:
        links: list[tuple[evaluate.Test, Term]] = []
        sign = ""
        while self._next_level == _COMPARE:
            if sign.endswith("in"):
                message = (
                    f"'{self._next_token.text}' cannot follow a list; put parentheses around what precedes it"
                )
                raise ExpressionError(message, self._next_token.column)
            sign, column = self._take_comparison()
            operand = self._parse_choices() if sign.endswith("in") else self._parse_operation(_SUM)
            links.append((evaluate.make_test(sign, column), operand))
        return evaluate.make_comparison(first, links)

    def _take_comparison(self) -> tuple[str, int]:
        _, sign, column = self._take_operator()
        if sign != "not":
            return sign, column
        self._expect("in")
        return "not in", column

    def _parse_choices(self) -> Term:
        self._expect("[")
        return evaluate.make_choices(self._parse_list("]"))

    def _parse_list(self, closing: str) -> list[Term]:
        """Expressions between commas, up to the closing sign; a comma may trail."""
        items: list[Term] = []
        while not self._accept(closing):
            items.append(self._parse_operation(_ANY))
            if not self._accept(",") and self._next_token.text != closing:
                raise self._syntax_error(f"',' or '{closing}'")
        return items

    def _parse_operand(self, least: int) -> Term:
        kind, text, column = self._next_token
        if kind in {"sign", "end"}:
            return self._parse_prefix(least)
        self._take()
        if kind == "number":
            return evaluate.make_constant(self._parse_number(text, column))
        if kind == "text":
            return evaluate.make_constant(text[1:-1])
        if self._accept("("):
            return self._parse_call(text, column)
        self.names.add(text)
        return evaluate.make_name(text, column)

    def _parse_prefix(self, least: int) -> Term:
        _, text, column = self._next_token
        if text not in {"-", "(", *_CONSTANTS} and not (text == "not" and least <= _NOT):
            raise self._syntax_error("a value")
        self._take()
        if text == "-":
            return evaluate.make_minus(column, self._parse_operation(_SIGN))
        if text == "not":
            return evaluate.make_not(column, self._parse_operation(_NOT))
        if text in _CONSTANTS:
            return evaluate.make_constant(_CONSTANTS[text])
        term = self._parse_operation(_ANY)
        self._expect(")")
        return term

    def _parse_call(self, name: str, column: int) -> Term:
        function = FUNCTIONS.get(name)
        if function is None:
            hint = suggest_name(name, FUNCTIONS) or f"; there are {', '.join(FUNCTIONS)}"
            raise ExpressionError(f"'{name}' is not a function{hint}", column)
        arguments = self._parse_list(")")
        if not function.min_arguments <= len(arguments) <= function.max_arguments:
            raise ExpressionError(f"{name} {function.arity}, found {len(arguments)}", column)
        return evaluate.make_call(name, column, arguments)

    def _parse_number(self, text: str, column: int) -> int | float:
        if sum(character.isdigit() for character in text) > MAX_DIGITS:
            raise ExpressionError(f"a number of more than {MAX_DIGITS} digits", column)
        try:
            if _PLAIN_NUMBER.fullmatch(text):
                return check_range(int(text) if text.isdecimal() else float(text))
            return self._parse_quantity(text)
        except ValueError as error:
            raise ExpressionError(str(error), column) from None

    def _parse_quantity(self, text: str) -> int | float:
        if self._quantity is None:
            raise ValueError(f"{quote_text(text)}: numbers with a unit are not supported here")
        value = self._quantity(text)
        if not math.isfinite(value):
            raise ValueError(f"{quote_text(text)} is not finite")
        return check_range(int(value) if float(value).is_integer() else value)
