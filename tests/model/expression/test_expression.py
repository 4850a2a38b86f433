from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.model import expression as public
from steelyard.model.expression import Expression, ExpressionError, Template, substitute

NAMES: dict[str, Any] = {
    "files": 4,
    "outstanding": 64,
    "rate": 2.5,
    "engine": "libaio",
    "cached": True,
    "none": None,
}


def value(text: str, **names: Any) -> Any:
    return Expression.parse(text).value({**NAMES, **names})


def complaint(text: str, **names: Any) -> str:
    """The column and the message of what is wrong with an expression."""
    with pytest.raises(ExpressionError) as caught:
        value(text, **names)
    return f"{caught.value.column}: {caught.value.message}"


# What an expression can say


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("files * outstanding <= 128", False),
        ("files", 4),
        ("engine", "libaio"),
        ("none", None),
        ("-2 ** 2", -4),
        ("2 ** -1", 0.5),
        ("2 ** 3 ** 2", 512),
        ("2 ** 127", 2**127),
        ("(-8) ** 3", -512),
        ("(-1) ** 10 ** 29", 1),
        ("7 // 2 * 2 + 7 % 2 == 7", True),
        ("-7 // 2", -4),
        ("1 - 2 - 3", -4),
        ("10 / 4", 2.5),
        ("1e3 + .5", 1000.5),
        ("1 < 2 < 3", True),
        ("1 < 3 > 2 != 5", True),
        ("3 > 2 > 2", False),
        ("engine == 'libaio' and not outstanding > 64", True),
        ('engine == "sync" or files == 4', True),
        ("not not cached", True),
        ("not 1 == 2", True),
        ("cached == 1", False),
        ("1 in [true]", False),
        ("none == null", True),
        ("engine == 1", False),
        ("'a' < 'b'", True),
        ("files in [1, 4]", True),
        ("files not in [1, 4,]", False),
        ("files + 1 in []", False),
        ("'big' if files > 2 else 'small'", "big"),
        ("1 if false else 2 if false else 3", 3),
        ("min(3, 1, 2) + max(1, 2)", 3),
        ("abs(-3) + round(2.4) + ceil(2.1) + floor(2.9)", 10),
        ("round(2.345, 1)", 2.3),
        ("int(7.9) + float(1)", 8.0),
        ("log2(8) + sqrt(9)", 6.0),
        ("false and 1 / 0 > 1", False),
        ("true or 1 / 0 > 1", True),
        ("1 if true else 1 / 0", 1),
        ("1 > 2 > 1 / 0", False),
        ("  files\n  + 1 ", 5),
    ],
)
def test_values(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


def test_the_names_of_an_expression() -> None:
    assert Expression.parse("a * b <= min(c, 3) and d in ['e', f] if true else null").names == set("abcdf")
    assert Expression.parse("1 + 1").names == set()


def test_equal_texts_are_equal_expressions() -> None:
    assert Expression.parse("a + 1") == Expression.parse("a + 1")
    assert Expression.parse("a + 1") != Expression.parse("a + 2")
    assert len({Expression.parse("a + 1"), Expression.parse("a + 1")}) == 1


# What it cannot

GOLDEN = [
    ("", "1: the expression is empty"),
    ("  ", "3: the expression is empty"),
    ("fiels * 2", "1: unknown name 'fiels'; did you mean 'files'?"),
    ("True", "1: unknown name 'True'; did you mean 'true'?"),
    ("1 + zzzz", "5: unknown name 'zzzz'; known are cached, engine, files, none, outstanding, rate"),
    ("files * engine", "7: '*' needs numbers, found text 'libaio'"),
    ("'x' * 10 ** 12", "5: '*' needs numbers, found text 'x'"),
    ("engine % files", "8: '%' needs numbers, found text 'libaio'"),
    ("cached + 1", "8: '+' needs numbers, found true"),
    ("-none", "1: '-' needs numbers, found null"),
    ("engine < 3", "8: '<' cannot compare text 'libaio' with 3"),
    ("cached >= false", "8: '>=' cannot compare true with false"),
    ("files and cached", "7: 'and' needs true or false, found 4"),
    ("cached and files", "8: 'and' needs true or false, found 4"),
    ("not files", "1: 'not' needs true or false, found 4"),
    ("1 if files else 2", "3: 'if' needs true or false, found 4"),
    ("max(1, engine)", "1: max needs numbers, found text 'libaio'"),
    ("1 / 0", "3: division by zero"),
    ("1 // (files - 4)", "3: division by zero"),
    ("1 % 0.0", "3: division by zero"),
    ("0 ** -1", "3: division by zero"),
    ("9**9**9", "2: 9 ** 387420489 is too large"),
    ("0.5 ** 1e9", "5: 0.5 ** 1000000000.0 is too close to zero"),
    ("(-8) ** 0.5", "6: -8 ** 0.5 is not a real number"),
    ("2 ** 127 * 2", "10: the number is too large: above 1e30, or 2**128 for a whole number"),
    ("1e29 * 100", "6: the number is too large: above 1e30, or 2**128 for a whole number"),
    ("1 + 1e30", "5: the number is too large: above 1e30, or 2**128 for a whole number"),
    ("1e999", "1: the number is too large: above 1e30, or 2**128 for a whole number"),
    ("9" * 31, "1: a number of more than 30 digits"),
    ("log2(0)", "1: log2 needs a number above 0, found 0"),
    ("sqrt(-1)", "1: sqrt needs a number of 0 or more, found -1"),
    ("round(1, -10**20)", "1: round takes a whole number of digits up to 30, found -100000000000000000000"),
    ("round(1, 0.5)", "1: round takes a whole number of digits up to 30, found 0.5"),
    ("max(1)", "1: max takes 2 or more arguments, found 1"),
    ("abs()", "1: abs takes 1 argument, found 0"),
    ("round(1, 2, 3)", "1: round takes 1 or 2 arguments, found 3"),
    ("mix(1, 2)", "1: 'mix' is not a function; did you mean 'min'?"),
    (
        "open('x')",
        "1: 'open' is not a function; there are min, max, abs, round, ceil, floor, int, float, log2, sqrt",
    ),
    ("files.real", "6: '.' is not allowed here: names cannot have parts"),
    ("files[0]", "6: '[' is not allowed here: names cannot have parts"),
    ("files = 4", "7: '=' is not a comparison; write '=='"),
    ("cached && cached", "8: '&' is not supported; write 'and'"),
    ("cached || cached", "8: '|' is not supported; write 'or'"),
    ("!cached", "1: '!' is not supported; write 'not'"),
    ("2 ^ 3", "3: '^' is not supported; write '**' for a power"),
    ("${files} > 1", "1: '$' is not allowed here; write the name alone"),
    ("engine == 'sync", "11: the quote ' is never closed"),
    ("lambda: 1", "7: ':' is not supported"),
    ("4MiB", "1: '4MiB': numbers with a unit are not supported here"),
    ("1 +", "4: expected a value, found the end"),
    ("1 + not cached", "5: expected a value, found 'not'"),
    ("(1", "3: expected ')', found the end"),
    ("1)", "2: expected an operator or the end, found ')'"),
    ("1 2", "3: expected an operator or the end, found '2'"),
    ("1 if true", "10: expected 'else', found the end"),
    ("files in 4", "10: expected '[', found '4'"),
    ("files in [1 2]", "13: expected ',' or ']', found '2'"),
    ("files not 4", "11: expected 'in', found '4'"),
    ("[1]", "1: expected a value, found '['"),
    ("files in [4] == true", "14: '==' cannot follow a list; put parentheses around what precedes it"),
    ("(" * 500, "51: nested more than 50 deep"),
    ("-" * 500 + "1", "51: nested more than 50 deep"),
    ("1" + " + 1" * 101, "403: more than 100 operators in one expression"),
    ("1" * 1001, "1: an expression of 1,001 characters; at most 1,000 are allowed"),
]


@pytest.mark.parametrize(("text", "expected"), GOLDEN, ids=range(len(GOLDEN)))
def test_complaints(text: str, expected: str) -> None:
    assert complaint(text) == expected


def test_with_no_names_at_all_the_message_is_short() -> None:
    with pytest.raises(ExpressionError, match=r"^unknown name 'zzzz'$"):
        Expression.parse("zzzz").value({})


def test_what_names_stand_for_is_not_trusted_either() -> None:
    assert complaint("x + 1", x=[1]) == "3: '+' needs numbers, found a list"
    too_large = "3: the number is too large: above 1e30, or 2**128 for a whole number"
    assert complaint("x + 1", x=math.nan) == too_large
    assert complaint("x * x", x=1e300) == too_large
    assert complaint("int(x)", x=math.inf) == "1: the number is too large"
    assert complaint("x / 3", x=10**5000) == "3: the number is too large"


# Numbers with units


def quantity(text: str) -> float:
    units = {"KiB": 1024.0, "ms": 0.001, "inf": math.inf}
    for unit, factor in units.items():
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    raise ValueError(f"'{text}' has no unit that is known")


def test_a_number_with_a_unit_goes_through_the_hook_and_stays_whole_where_it_is() -> None:
    found = Expression.parse("4KiB + 0.5KiB", quantity).value({})
    assert found == 4608
    assert type(found) is int
    assert Expression.parse("50ms * 2", quantity).value({}) == 0.1
    assert Template.parse("bs=${4KiB}", quantity).value({}) == "bs=4096"
    assert substitute({"a": "${1KiB}"}, {}, quantity) == {"a": 1024}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1 + 5parsec", "'5parsec' has no unit that is known"), ("1 + 5inf", "'5inf' is not finite")],
)
def test_the_complaint_of_the_hook_is_located(text: str, expected: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression.parse(text, quantity)
    assert (caught.value.message, caught.value.column) == (expected, 5)


# Anything at all

PIECES = """1 2.5 1e9 9**9 4MiB 'x' "y" true false null files engine zz + - * / // % ** == != < <= > >= and or
not in if else ( ) [ ] , min( round( log2( int( sqrt( . = & $ { } ' " ² é"""
soup = st.lists(st.sampled_from(PIECES.split()), max_size=20).map(" ".join)


@settings(max_examples=400)
@given(st.one_of(st.text(max_size=30), soup))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    try:
        found = value(text)
    except ExpressionError as error:
        shown = f"{error.column} {error}"
        assert not shown.startswith("0")
    else:
        assert type(found) in {int, float, str, bool, type(None)}


def test_the_public_names() -> None:
    assert all(hasattr(public, name) for name in public.__all__)
