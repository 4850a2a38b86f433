"""The parts of a parsed expression: frozen values; `column` is where a part's own sign or word stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constant:
    """A number, a text, true, false or null."""

    column: int
    value: int | float | str | bool | None


@dataclass(frozen=True)
class Name:
    """A parameter."""

    column: int
    name: str


@dataclass(frozen=True)
class Minus:
    """A number with its sign turned."""

    column: int
    operand: Node


@dataclass(frozen=True)
class Arithmetic:
    """Two numbers to one: + - * / // % **."""

    column: int
    sign: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Link:
    """A sign of comparison (or `in`, `not in`) and what stands to its right."""

    column: int
    sign: str
    operand: Node


@dataclass(frozen=True)
class ComparisonChain:
    """`a < b <= c`: true if each link holds."""

    column: int
    first: Node
    links: tuple[Link, ...]


@dataclass(frozen=True)
class ChoiceList:
    """The list to the right of `in`."""

    column: int
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Logic:
    """`and`, `or`."""

    column: int
    word: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Not:
    """The contrary."""

    column: int
    operand: Node


@dataclass(frozen=True)
class Conditional:
    """`then if condition else other`."""

    column: int
    condition: Node
    then: Node
    other: Node


@dataclass(frozen=True)
class Call:
    """A function of numbers and its arguments."""

    column: int
    function: str
    arguments: tuple[Node, ...]


Node = Constant | Name | Minus | Arithmetic | ComparisonChain | ChoiceList | Logic | Not | Conditional | Call
