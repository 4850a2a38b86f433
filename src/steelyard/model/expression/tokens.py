"""The words of an expression: numbers with or without a unit, texts, names, signs."""

from __future__ import annotations

import re
from typing import NamedTuple

from steelyard.model.expression.error import ExpressionError, quote_text

_NAME = r"[^\W\d]\w*"


def _token_pattern(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"""\s*(?:
            (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?:[^\W\d]\w*)?)
          | (?P<text>'[^']*'|"[^"]*")
          | (?P<name>{name})
          | (?P<sign>\*\*|//|==|!=|<=|>=|[-+*/%<>(),\[\]])
          | (?P<end>\Z)
        )""",
        re.VERBOSE,
    )


_PLAIN, _DOTTED = _token_pattern(_NAME), _token_pattern(rf"{_NAME}(?:\.{_NAME})?")
_KEYWORDS = frozenset({"and", "or", "not", "in", "if", "else", "true", "false", "null"})
_FOREIGN = {
    "=": "'=' is not a comparison; write '=='",
    "&": "'&' is not supported; write 'and'",
    "|": "'|' is not supported; write 'or'",
    "!": "'!' is not supported; write 'not'",
    "^": "'^' is not supported; write '**' for a power",
    ".": "'.' is not allowed here: names cannot have parts",
    "'": "the quote ' is never closed",
    '"': 'the quote " is never closed',
    "{": "'{' is not allowed here; write the name alone",
    "$": "'$' is not allowed here; write the name alone",
}


class ExpressionToken(NamedTuple):
    """One word: its kind (number, text, name, sign, which `and` is too, or end), its letters, its column."""

    kind: str
    text: str
    column: int


def tokenize(text: str, offset: int, *, dotted: bool = False) -> list[ExpressionToken]:
    """All words of an expression, the last one being `end`. Raises ExpressionError.

    `offset` is added to every column: so many characters stand before the expression. With `dotted` a name
    may have two parts, as in `ring.settled`.
    """
    tokens: list[ExpressionToken] = []
    words = _DOTTED if dotted else _PLAIN
    position = 0
    while not tokens or tokens[-1].kind != "end":
        match = words.match(text, position)
        if match is None:
            raise _syntax_error(text, position, offset)
        tokens.append(_make_token(match, offset))
        position = match.end()
    return tokens


def _make_token(match: re.Match[str], offset: int) -> ExpressionToken:
    kind = str(match.lastgroup)
    word = match[kind]
    column = match.start(kind) + 1 + offset
    return ExpressionToken("sign" if word in _KEYWORDS else kind, word, column)


def _syntax_error(text: str, position: int, offset: int) -> ExpressionError:
    rest = text[position:].lstrip()
    message = _FOREIGN.get(rest[0], f"{quote_text(rest[0])} is not supported")
    return ExpressionError(message, len(text) - len(rest) + 1 + offset)
