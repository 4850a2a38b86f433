from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from steelyard.model.expression import ExpressionError, Template, find_names, prepare, substitute

NAMES: dict[str, Any] = {"files": 4, "rate": 2.5, "engine": "libaio", "cached": True, "none": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${files}", 4),
        ("${rate}", 2.5),
        ("${cached}", True),
        ("${none}", None),
        ("${ files * 2 }", 8),
        ("client[:${files}]", "client[:4]"),
        ("${files}${files}", "44"),
        (" ${files}", " 4"),
        ("${rate} ${cached} ${none} ${engine}", "2.5 true null libaio"),
        ("$${files}", "${files}"),
        ("$$${files}", "$${files}"),
        ("$${${files}", "${4"),
        ("cost: 5$ {x}", "cost: 5$ {x}"),
        ("${'}'}", "}"),
        ("${'${'}${1}", "${1"),
        ("", ""),
        ("plain", "plain"),
    ],
)
def test_templates(text: str, expected: object) -> None:
    found = Template.parse(text).value(NAMES)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("a ${files", "'${' is never closed; write '$${' for a plain '${'", 3),
        ("${'x}", "'${' is never closed; write '$${' for a plain '${'", 1),
        ("a ${}", "the expression is empty", 5),
        ("a ${1 +} b", "expected a value, found the end", 8),
        ("a ${b} ${fils}", "unknown name 'fils'; did you mean 'files'?", 10),
        ("a ${b} ${b / 0}", "division by zero", 12),
        ("${" + "1" * 2000 + "}", "an expression of 2,000 characters; at most 1,000 are allowed", 3),
    ],
)
def test_complaints_about_templates_count_columns_in_the_whole_text(
    text: str, message: str, column: int
) -> None:
    with pytest.raises(ExpressionError) as caught:
        Template.parse(text).value({"b": 1, "files": 2})
    assert (caught.value.message, caught.value.column) == (message, column)


def test_the_names_of_a_template() -> None:
    assert Template.parse("${a}-${b * a} $${c}").names == {"a", "b"}
    assert Template.parse("none").names == set()


def test_a_filled_text_is_bounded() -> None:
    assert len(str(Template.parse("${x}${x}").value({"x": "y" * 16_384}))) == 32_768
    with pytest.raises(ExpressionError, match="a text of 32,769 characters; at most 32,768"):
        Template.parse("${x}${x}-").value({"x": "y" * 16_384})


# Trees

TREE = {
    "use": "fio",
    "args": ["--bs=${size}", {"n": "${files}"}],
    "n": 3,
    "${kept}": None,
    "on": "db[:${files + x}]",
}


def test_a_tree_is_filled_in_and_left_alone() -> None:
    before = pickle.dumps(TREE)
    found = substitute(TREE, {"size": "4k", "files": 4, "x": 1})
    assert found == {"use": "fio", "args": ["--bs=4k", {"n": 4}], "n": 3, "${kept}": None, "on": "db[:5]"}
    found["args"].append(1)
    assert pickle.dumps(TREE) == before


def test_a_prepared_tree_can_be_filled_in_many_times() -> None:
    prepared = prepare({"a": ["${x}"]})
    first = prepared.value({"x": 1})
    first["a"].append(2)
    assert prepared.value({"x": 3}) == {"a": [3]}


def test_the_names_of_a_tree_come_with_their_paths() -> None:
    assert list(find_names(TREE)) == [
        (("args", 0), "size"),
        (("args", 1, "n"), "files"),
        (("on",), "files"),
        (("on",), "x"),
    ]


def test_errors_in_a_tree_come_with_their_path() -> None:
    with pytest.raises(ExpressionError, match="unknown name 'x'") as caught:
        substitute({"a": [1, {"b": "y${x}"}]}, {})
    assert (caught.value.path, caught.value.column) == (("a", 1, "b"), 4)
    with pytest.raises(ExpressionError, match="never closed") as caught:
        list(find_names({"a": [1, {"b": "${"}]}))
    assert caught.value.path == ("a", 1, "b")


def test_a_filled_tree_is_bounded() -> None:
    tree = {"a": ["${x}-"] * 40}
    with pytest.raises(ExpressionError, match="exceed 1,048,576 characters") as caught:
        substitute(tree, {"x": "y" * 30_000})
    assert caught.value.path == ("a", 34)


# Anything at all

pieces = st.lists(st.sampled_from(["${", "}", "$", "files", " ", "+", "1", "'", '"', "zz"]), max_size=12).map(
    "".join
)


@given(st.one_of(st.text(max_size=30), pieces))
def test_any_text_is_a_template_or_refused(text: str) -> None:
    try:
        found = Template.parse(text).value(NAMES)
    except ExpressionError:
        assert "${" in text
    else:
        assert "${" in text or found == text


@given(st.text(max_size=30))
def test_an_escaped_text_is_given_back(text: str) -> None:
    assume("$$" not in text)
    escaped = text.replace("${", "$${")
    assert Template.parse(escaped).value({}) == text
