"""From the words of an expression to its parts, by precedence climbing (Pratt, "Top down operator
precedence", POPL 1973). Precedence and grouping are Python's, as is the meaning of a chain `a < b < c`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from steelyard.errors import did_you_mean
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
        if self._next.kind == "end":
            raise ExpressionError("the expression is empty", self._next.column)
        node = self._expression()
        if self._next.kind != "end":
            raise self._unexpected("an operator or the end")
        return node

    @property
    def _next(self) -> ExpressionToken:
        return self._tokens[self._at]

    def _take(self) -> ExpressionToken:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _accept(self, word: str) -> bool:
        accepted = self._next.text == word and self._next.kind in {"sign", "keyword"}
        self._at += accepted
        return accepted

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            raise self._unexpected(f"'{word}'")

    def _unexpected(self, expected: str) -> ExpressionError:
        token = self._next
        before = self._tokens[self._at - 1] if self._at else None
        if token.text == "[" and before and before.kind == "name":
            return ExpressionError("'[' is not allowed here: names are plain and have no parts", token.column)
        actual = "the end" if token.kind == "end" else quote_text(token.text)
        return ExpressionError(f"expected {expected}, found {actual}", token.column)

    def _expression(self) -> Node:
        node = self._operation(_OR)
        column = self._next.column
        if not self._accept("if"):
            return node
        condition = self._operation(_OR)
        self._expect("else")
        self._count_operator(column)
        self._depth += 1
        other = self._expression()
        self._depth -= 1
        return Conditional(column, condition, node, other)

    def _operation(self, least: int) -> Node:
        """An operand and all operators behind it that bind at least this tightly."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise ExpressionError(f"nested more than {MAX_NESTING} deep", self._next.column)
        node = self._operand(least)
        while (level := self._level()) >= least:
            node = self._comparison(node) if level == _COMPARE else self._infix(node, level)
        self._depth -= 1
        return node

    def _level(self) -> int:
        return _LEVELS.get(self._next.text, 0) if self._next.kind in {"sign", "keyword"} else 0

    def _count_operator(self, column: int) -> None:
        self._operators += 1
        if self._operators > MAX_OPERATORS:
            raise ExpressionError(f"more than {MAX_OPERATORS} operators in one expression", column)

    def _infix(self, left: Node, level: int) -> Node:
        token = self._take()
        self._count_operator(token.column)
        right = self._operation(level if level == _POWER else level + 1)
        if level in {_OR, _AND}:
            return Logic(token.column, token.text, left, right)
        return Arithmetic(token.column, token.text, left, right)

    def _comparison(self, first: Node) -> Node:
        links: list[Link] = []
        while self._level() == _COMPARE:
            links.append(self._link())
            if isinstance(links[-1].operand, ChoiceList) and self._level() == _COMPARE:
                message = f"'{self._next.text}' cannot follow a list; put parentheses around what is before"
                raise ExpressionError(message, self._next.column)
        return ComparisonChain(links[0].column, first, tuple(links))

    def _link(self) -> Link:
        token = self._take()
        self._count_operator(token.column)
        if token.text == "not":
            self._expect("in")
            return Link(token.column, "not in", self._choices())
        return Link(
            token.column, token.text, self._choices() if token.text == "in" else self._operation(_SUM)
        )

    def _choices(self) -> Node:
        column = self._next.column
        self._expect("[")
        return ChoiceList(column, self._list("]"))

    def _list(self, closing: str) -> tuple[Node, ...]:
        """Expressions between commas, up to the closing sign; a comma may trail."""
        items: list[Node] = []
        while not self._accept(closing):
            items.append(self._expression())
            if not self._accept(",") and self._next.text != closing:
                raise self._unexpected(f"',' or '{closing}'")
        return tuple(items)

    def _operand(self, least: int) -> Node:
        token = self._take()
        if token.kind == "number":
            return Constant(token.column, self._number(token))
        if token.kind == "text":
            return Constant(token.column, token.text[1:-1])
        if token.kind == "name":
            return self._call(token) if self._accept("(") else self._name(token)
        if token.text in _CONSTANTS:
            return Constant(token.column, _CONSTANTS[token.text])
        return self._prefixed(token, least)

    def _prefixed(self, token: ExpressionToken, least: int) -> Node:
        if token.text == "-":
            return Minus(token.column, self._operation(_SIGN))
        if token.text == "not" and least <= _NOT:
            return Not(token.column, self._operation(_NOT))
        if token.text == "(":
            node = self._expression()
            self._expect(")")
            return node
        self._at -= 1
        raise self._unexpected("a value")

    def _name(self, token: ExpressionToken) -> Node:
        self.names.add(token.text)
        return Name(token.column, token.text)

    def _call(self, token: ExpressionToken) -> Node:
        function = FUNCTIONS.get(token.text)
        if function is None:
            hint = did_you_mean(token.text, FUNCTIONS) or f"; there are {', '.join(FUNCTIONS)}"
            raise ExpressionError(f"'{token.text}' is not a function{hint}", token.column)
        arguments = self._list(")")
        if not function.least <= len(arguments) <= function.most:
            raise ExpressionError(f"{token.text} {function.takes}, found {len(arguments)}", token.column)
        return Call(token.column, token.text, arguments)

    def _number(self, token: ExpressionToken) -> int | float:
        if sum(character.isdigit() for character in token.text) > MAX_DIGITS:
            raise ExpressionError(f"a number of more than {MAX_DIGITS} digits", token.column)
        try:
            if _PLAIN_NUMBER.fullmatch(token.text):
                return check_range(int(token.text) if token.text.isdecimal() else float(token.text))
            return self._with_unit(token.text)
        except ValueError as error:
            raise ExpressionError(str(error), token.column) from None

    def _with_unit(self, text: str) -> int | float:
        if self._quantity is None:
            raise ValueError(f"{quote_text(text)}: numbers with a unit are not understood here")
        value = self._quantity(text)
        if not math.isfinite(value):
            raise ValueError(f"{quote_text(text)} is not finite")
        return check_range(int(value) if float(value).is_integer() else value)
