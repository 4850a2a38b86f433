"""Precedence, grouping and meaning are Python's own; what only Python has is refused."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from steelyard.model.expression import Expression, ExpressionError

NAMES: dict[str, Any] = {"files": 4, "rate": 2.5, "engine": "libaio", "cached": True}
PYTHON = {"true": True, "false": False, "abs": abs, "round": round, "min": min}
"""What some words of expressions are in Python."""

NUMBERS = """{n} + {m} | {n}+{m} | {n} - {m} | {n}-{m} | {n} * {m} | {n} / {m} | {n} // {m} | {n} % {m}
 | {n} ** 2 | {n}**-1 | {n} ** 0 | - {n} | -{n} | ({n}) | abs( {n} ) | round({n}) | min({n}, {m})
 | min({n},{m},) | ({n} if {c} else {m})"""
CONDITIONS = """{n} < {m} | {n}<={m} | {n} > {m} | {n} >= {m} | {n} == {m} | {n} != {m} | {n} < {m} <= {n}
 | {n} != {m} == {n} | {n} in [{m}] | {n} not in [{m}, {n},] | {n} < {m} in [{m}, 1] | {c} and {d}
 | {c} or {d} | not {c} | ({c}) | ({c} if {d} else {c})"""
WHOLE = """{n} | {c} | {n} if {c} else {m} | {n} if {c} else {m} if {d} else 'none' | {c} if {d} else {d}"""

Pair = tuple[str, str]
"""An expression that is a number, and one that is true or false."""

leaves = st.tuples(
    st.one_of(st.integers(0, 20).map(str), st.sampled_from(["0.5", "2.25", "1e3", ".5", "files", "rate"])),
    st.sampled_from(["true", "false", "cached", "engine == 'libaio'", 'engine < "b"', "files in []"]),
)


def shapes(of: str) -> st.SearchStrategy[str]:
    return st.sampled_from([shape.strip() for shape in of.split("|")])


def fill(shape: str, left: Pair, right: Pair) -> str:
    return shape.format(n=left[0], c=left[1], m=right[0], d=right[1])


def nest(below: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    drawn = st.tuples(shapes(NUMBERS), shapes(CONDITIONS), below, below)
    return drawn.map(lambda one: (fill(one[0], *one[2:]), fill(one[1], *one[2:])))


pairs = st.recursive(leaves, nest, max_leaves=8)
expressions = st.builds(fill, shapes(WHOLE), pairs, pairs)


def outcome(text: str) -> Any:
    """The value, or the complaint."""
    try:
        return Expression.parse(text).value(NAMES)
    except ExpressionError as error:
        return error.message


def python_outcome(text: str) -> Any:
    """The same from Python itself; the texts are made here, of numbers and signs."""
    try:
        return eval(text, {**PYTHON, **NAMES})
    except ZeroDivisionError:
        return "division by zero"


@settings(max_examples=600)
@given(expressions)
def test_values_agree_with_python(text: str) -> None:
    ours = outcome(text)
    assume("too large" not in str(ours) and "more than" not in str(ours))
    python = python_outcome(text)
    assert ours == python
    assert type(ours) is type(python)


@given(expressions)
def test_names_and_kind_agree_with_python(text: str) -> None:
    assume(len(text) < 400)
    root = ast.parse(text, mode="eval").body
    names = {node.id for node in ast.walk(root) if isinstance(node, ast.Name)}
    is_not = isinstance(root, ast.UnaryOp) and isinstance(root.op, ast.Not)
    expression = Expression.parse(text)
    assert expression.names == names - PYTHON.keys()
    assert expression.is_condition == (is_not or isinstance(root, ast.Compare | ast.BoolOp))


@given(expressions, st.data())
def test_a_cut_expression_is_one_or_refused_within_its_text(text: str, data: st.DataObject) -> None:
    cut = text[: data.draw(st.integers(0, len(text)))]
    assert complaint_column(cut) in range(len(cut) + 2)


def complaint_column(text: str) -> int:
    """Where the complaint about an expression points, 0 if there is none."""
    try:
        Expression.parse(text)
    except ExpressionError as error:
        return error.column
    return 0


ONLY_PYTHON = [
    ("files\0", "6: '\\x00' is not supported"),
    ("files \udc80", "7: '\\udc80' is not supported"),
    ("\ufeff1", "1: '\\ufeff' is not supported"),
    ("\u0663", "1: '\u0663' is not supported"),
    ("\ufb01les", "1: unknown name '\ufb01les'; did you mean 'files'?"),
    ("None", "1: unknown name 'None'; known are cached, engine, files, rate"),
    ("(files := 4)", "8: ':' is not supported"),
    ("f'{files}'", "2: expected an operator or the end, found \"'{files}'\""),
    ("'a' 'b'", "5: expected an operator or the end, found \"'b'\""),
    ("min(x for x in files)", "7: expected ',' or ')', found 'for'"),
    ("[x for x in files]", "1: expected a value, found '['"),
    ("min(*files, 1)", "5: expected a value, found '*'"),
    ("min(a=1, b=2)", "6: '=' is not a comparison; write '=='"),
    ("min(1, **files)", "8: expected a value, found '**'"),
    ("await files", "7: expected an operator or the end, found 'files'"),
    ("files # 4", "7: '#' is not supported"),
    ("files \\\n + 1", "7: '\\\\' is not supported"),
    ("0x10", "1: '0x10': numbers with a unit are not supported here"),
    ("1_000", "1: '1_000': numbers with a unit are not supported here"),
    ("1j", "1: '1j': numbers with a unit are not supported here"),
    ("1 is 1", "3: expected an operator or the end, found 'is'"),
    ("files <> 4", "8: expected a value, found '>'"),
    ("+1", "1: expected a value, found '+'"),
    ("~files", "1: '~' is not supported"),
    ("(1, 2)", "3: expected ')', found ','"),
    ("()", "2: expected a value, found ')'"),
    ("1, 2", "2: expected an operator or the end, found ','"),
    ("(files)(1)", "8: expected an operator or the end, found '('"),
    ("'x'(1)", "4: expected an operator or the end, found '('"),
    ("'x'.upper()", "4: '.' is not allowed here: names cannot have parts"),
    ("1 in 2 in [3]", "6: expected '[', found '2'"),
    ("**files", "1: expected a value, found '**'"),
    ("...", "1: '.' is not allowed here: names cannot have parts"),
    ("2**" * 60 + "2", "151: nested more than 50 deep"),
    ("1 if true else " * 60 + "1", "741: nested more than 50 deep"),
]


@pytest.mark.parametrize(("text", "expected"), ONLY_PYTHON, ids=range(len(ONLY_PYTHON)))
def test_what_only_python_has_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression.parse(text).value(NAMES)
    assert f"{caught.value.column}: {caught.value.message}" == expected


def test_a_backslash_in_a_text_is_one() -> None:
    assert Expression.parse(r"'\d'").value({}) == "\\d"
