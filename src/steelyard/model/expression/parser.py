"""From the words of an expression to its parts, by precedence climbing (Pratt, "Top down operator
precedence", POPL 1973). Precedence and grouping are Python's, as is the meaning of a chain `a < b < c`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from steelyard.errors import suggest_name
from steelyard.model.expression.arithmetic import FUNCTIONS, check_range
from steelyard.model.expression.error import ExpressionError, quote_text
from steelyard.model.expression.nodes import (
    Arithmetic,
    Call,
    ChoiceList,
    ComparisonChain,
    Conditional,
    Constant,
    Link,
    Logic,
    Minus,
    Name,
    Node,
    Not,
)
from steelyard.model.expression.tokens import ExpressionToken, tokenize

MAX_NESTING = 50
MAX_OPERATORS = 100
MAX_DIGITS = 30

Quantity = Callable[[str], float]
"""Reads a number with a unit, `4MiB`, to base units; raises ValueError."""

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER = range(1, 9)
_LEVELS = {
    **dict.fromkeys(("or",), _OR),
    **dict.fromkeys(("and",), _AND),
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in", "not"), _COMPARE),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("*", "/", "//", "%"), _PRODUCT),
    **dict.fromkeys(("**",), _POWER),
}
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

    def parse(self) -> Node:
        """The whole expression. Raises ExpressionError."""
        if self._next_token.kind == "end":
            raise ExpressionError("the expression is empty", self._next_token.column)
        node = self._parse_expression()
        if self._next_token.kind != "end":
            raise self._syntax_error("an operator or the end")
        return node

    @property
    def _next_token(self) -> ExpressionToken:
        return self._tokens[self._at]

    def _take(self) -> ExpressionToken:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _accept(self, word: str) -> bool:
        accepted = self._next_token.text == word and self._next_token.kind in {"sign", "keyword"}
        self._at += accepted
        return accepted

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            raise self._syntax_error(f"'{word}'")

    def _syntax_error(self, expected: str) -> ExpressionError:
        token = self._next_token
        before = self._tokens[self._at - 1] if self._at else None
        if token.text == "[" and before and before.kind == "name":
            return ExpressionError("'[' is not allowed here: names cannot have parts", token.column)
        actual = "the end" if token.kind == "end" else quote_text(token.text)
        return ExpressionError(f"expected {expected}, found {actual}", token.column)

    def _parse_expression(self) -> Node:
        node = self._parse_operation(_OR)
        column = self._next_token.column
        if not self._accept("if"):
            return node
        condition = self._parse_operation(_OR)
        self._expect("else")
        self._count_operator(column)
        self._depth += 1
        other = self._parse_expression()
        self._depth -= 1
        return Conditional(column, condition, node, other)

    def _parse_operation(self, least: int) -> Node:
        """An operand and all operators behind it that bind at least this tightly."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise ExpressionError(f"nested more than {MAX_NESTING} deep", self._next_token.column)
        node = self._parse_operand(least)
        while (level := self._level()) >= least:
            node = self._parse_comparison(node) if level == _COMPARE else self._parse_infix(node, level)
        self._depth -= 1
        return node

    def _level(self) -> int:
        return _LEVELS.get(self._next_token.text, 0) if self._next_token.kind in {"sign", "keyword"} else 0

    def _count_operator(self, column: int) -> None:
        self._operators += 1
        if self._operators > MAX_OPERATORS:
            raise ExpressionError(f"more than {MAX_OPERATORS} operators in one expression", column)

    def _parse_infix(self, left: Node, level: int) -> Node:
        token = self._take()
        self._count_operator(token.column)
        right = self._parse_operation(level if level == _POWER else level + 1)
        if level in {_OR, _AND}:
            return Logic(token.column, token.text, left, right)
        return Arithmetic(token.column, token.text, left, right)

    def _parse_comparison(self, first: Node) -> Node:
        links: list[Link] = []
        while self._level() == _COMPARE:
            links.append(self._parse_link())
            if isinstance(links[-1].operand, ChoiceList) and self._level() == _COMPARE:
                message = (
                    f"'{self._next_token.text}' cannot follow a list; put parentheses around what precedes it"
                )
                raise ExpressionError(message, self._next_token.column)
        return ComparisonChain(links[0].column, first, tuple(links))

    def _parse_link(self) -> Link:
        token = self._take()
        self._count_operator(token.column)
        if token.text == "not":
            self._expect("in")
            return Link(token.column, "not in", self._parse_choices())
        return Link(
            token.column,
            token.text,
            self._parse_choices() if token.text == "in" else self._parse_operation(_SUM),
        )

    def _parse_choices(self) -> Node:
        column = self._next_token.column
        self._expect("[")
        return ChoiceList(column, self._parse_list("]"))

    def _parse_list(self, closing: str) -> tuple[Node, ...]:
        """Expressions between commas, up to the closing sign; a comma may trail."""
        items: list[Node] = []
        while not self._accept(closing):
            items.append(self._parse_expression())
            if not self._accept(",") and self._next_token.text != closing:
                raise self._syntax_error(f"',' or '{closing}'")
        return tuple(items)

    def _parse_operand(self, least: int) -> Node:
        token = self._take()
        if token.kind == "number":
            return Constant(token.column, self._parse_number(token))
        if token.kind == "text":
            return Constant(token.column, token.text[1:-1])
        if token.kind == "name":
            return self._parse_call(token) if self._accept("(") else self._parse_name(token)
        if token.text in _CONSTANTS:
            return Constant(token.column, _CONSTANTS[token.text])
        return self._parse_prefix(token, least)

    def _parse_prefix(self, token: ExpressionToken, least: int) -> Node:
        if token.text == "-":
            return Minus(token.column, self._parse_operation(_SIGN))
        if token.text == "not" and least <= _NOT:
            return Not(token.column, self._parse_operation(_NOT))
        if token.text == "(":
            node = self._parse_expression()
            self._expect(")")
            return node
        self._at -= 1
        raise self._syntax_error("a value")

    def _parse_name(self, token: ExpressionToken) -> Node:
        self.names.add(token.text)
        return Name(token.column, token.text)

    def _parse_call(self, token: ExpressionToken) -> Node:
        function = FUNCTIONS.get(token.text)
        if function is None:
            hint = suggest_name(token.text, FUNCTIONS) or f"; there are {', '.join(FUNCTIONS)}"
            raise ExpressionError(f"'{token.text}' is not a function{hint}", token.column)
        arguments = self._parse_list(")")
        if not function.min_arguments <= len(arguments) <= function.max_arguments:
            raise ExpressionError(f"{token.text} {function.arity}, found {len(arguments)}", token.column)
        return Call(token.column, token.text, arguments)

    def _parse_number(self, token: ExpressionToken) -> int | float:
        if sum(character.isdigit() for character in token.text) > MAX_DIGITS:
            raise ExpressionError(f"a number of more than {MAX_DIGITS} digits", token.column)
        try:
            if _PLAIN_NUMBER.fullmatch(token.text):
                return check_range(int(token.text) if token.text.isdecimal() else float(token.text))
            return self._parse_quantity(token.text)
        except ValueError as error:
            raise ExpressionError(str(error), token.column) from None

    def _parse_quantity(self, text: str) -> int | float:
        if self._quantity is None:
            raise ValueError(f"{quote_text(text)}: numbers with a unit are not supported here")
        value = self._quantity(text)
        if not math.isfinite(value):
            raise ValueError(f"{quote_text(text)} is not finite")
        return check_range(int(value) if float(value).is_integer() else value)
