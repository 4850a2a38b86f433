"""A text with `${…}` in it: `client[:${machines}]`, or `${2 * files}` on its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.model.expression.arithmetic import format_value
from steelyard.model.expression.error import ExpressionError
from steelyard.model.expression.evaluate import Names
from steelyard.model.expression.expression import Expression, Value
from steelyard.model.expression.parser import Quantity

MAX_TEXT = 32 * 1024
"""Characters of a text once its expressions are replaced."""

_OPENING = re.compile(r"\$(\$?)\{")
_INSIDE = re.compile(r"""(?:[^'"}]|'[^']*'|"[^"]*")*\}""")


@dataclass(frozen=True)
class Template:
    """A parsed text: plain pieces and expressions in turn.

    A text that is one `${…}` and nothing else keeps the type of its value; in any other the values are
    written as text, with true, false and null as YAML has them. `$${` stands for a plain `${`.
    """

    text: str
    pieces: tuple[str | Expression, ...]

    @classmethod
    def parse(cls, text: str, quantity: Quantity | None = None) -> Template:
        """Read a template; `quantity` as in Expression.parse.

        Raises ExpressionError, whose column counts from 1 in `text`.
        """
        return cls(text, tuple(_split_pieces(text, quantity)))

    @property
    def names(self) -> frozenset[str]:
        """What its expressions ask for: parameters, and references such as `kv.port`."""
        return frozenset().union(*(piece.names for piece in self.pieces if isinstance(piece, Expression)))

    def value(self, names: Names) -> Value:
        """The text with its expressions replaced. Raises ExpressionError."""
        if len(self.pieces) == 1 and isinstance(self.pieces[0], Expression):
            return self.pieces[0].value(names)
        texts = [
            piece if isinstance(piece, str) else format_value(piece.value(names)) for piece in self.pieces
        ]
        length = sum(map(len, texts))
        if length > MAX_TEXT:
            raise ExpressionError(f"a text of {length:,} characters; at most {MAX_TEXT:,} are allowed", 1)
        return "".join(texts)


def _split_pieces(text: str, quantity: Quantity | None) -> Iterator[str | Expression]:
    done = 0
    while opening := _OPENING.search(text, done):
        if plain := text[done : opening.start()]:
            yield plain
        if opening[1]:
            yield "${"
            done = opening.end()
            continue
        inside = _INSIDE.match(text, opening.end())
        if inside is None:
            raise ExpressionError("'${' is never closed; write '$${' for a plain '${'", opening.start() + 1)
        yield Expression.parse(inside[0][:-1], quantity, offset=opening.end(), dotted=True)
        done = inside.end()
    if done < len(text) or not text:
        yield text[done:]
