from __future__ import annotations

import io
import itertools
import re
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from steelyard.spec.problem import MAX_PROBLEMS, Problem, SourceError, SourceMark
from steelyard.spec.yaml import source
from steelyard.spec.yaml.source import read, read_bytes

EXAMPLE = """\
experiment: ska1-raw-ingest
parameters:
  outstanding: [1, 8, 64]
  files: {range: [1, 4], step: 3}
where: files * outstanding <= 128   # a comment
workload:
  use: ska1
  outstanding: ${outstanding}
require:
  - write_bandwidth.median >= 200 MiB/s
  - {that: write_latency_p99.median <= 50 ms, where: outstanding == 1}
"""


# What is read


def test_an_experiment_file_becomes_plain_values() -> None:
    assert read(EXAMPLE, "ska.yaml").value == {
        "experiment": "ska1-raw-ingest",
        "parameters": {"outstanding": [1, 8, 64], "files": {"range": [1, 4], "step": 3}},
        "where": "files * outstanding <= 128",
        "workload": {"use": "ska1", "outstanding": "${outstanding}"},
        "require": [
            "write_bandwidth.median >= 200 MiB/s",
            {"that": "write_latency_p99.median <= 50 ms", "where": "outstanding == 1"},
        ],
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-0", 0),
        ("+7", 7),
        ("010", 10),
        ("0o17", 15),
        ("0xfF", 255),
        ("9" * 30, int("9" * 30)),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("-2.5E-1", -0.25),
        ("true", True),
        ("TRUE", True),
        ("False", False),
        ("tRUE", "tRUE"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("off", "off"),
        ("y", "y"),
        ("1_000", "1_000"),
        ("0b1", "0b1"),
        ("0o8", "0o8"),
        ("12:30", "12:30"),
        ("1.2.3", "1.2.3"),
        ("2026-02-28", "2026-02-28"),
        ("2026-13-01-notes", "2026-13-01-notes"),
        ("20%", "20%"),
        ("1GiB", "1GiB"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("'2026-02-31'", "2026-02-31"),
        ("!!str 12", "12"),
        ("!!int '12'", 12),
        ("!!float 1", 1.0),
        ("!!bool 'true'", True),
        ("!!null ''", None),
        ("!!seq [1]", [1]),
        ("!!map {}", {}),
        ("!<tag:yaml.org,2002:str> 12", "12"),
        ("[null, Null, NULL, ~, '']", [None, None, None, None, ""]),
        ("|\n  a\n  b\n", "a\nb\n"),
        ("${a} and ${b}", "${a} and ${b}"),
    ],
)
def test_scalars_follow_the_core_schema(text: str, value: object) -> None:
    found = read(f"key: {text}", "f").value["key"]
    assert found == value
    assert type(found) is type(value)


def test_keys_that_yaml_1_1_would_take_for_truth_values_are_text() -> None:
    assert read("on: server\nyes: 1\nno: 2\n", "f").value == {"on": "server", "yes": 1, "no": 2}


def test_a_byte_order_mark_and_windows_line_ends_are_welcome() -> None:
    found = read_bytes(b"\xef\xbb\xbfa: 1\r\nb:\r\n  - x\r\n", "f")
    assert found.value == {"a": 1, "b": ["x"]}
    assert found.locate(("a",), key=True) == SourceMark(1, 1)
    assert found.locate(("b", 0)) == SourceMark(3, 5)


def test_an_alias_is_a_copy() -> None:
    value = read("a: &it [1, {b: 2}]\nc: *it\n", "f").value
    assert value == {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}
    value["c"][1]["b"] = 3
    assert value["a"][1]["b"] == 2


def test_an_anchor_on_a_key_and_a_redefined_anchor() -> None:
    assert read("&k a: *k\n", "f").value == {"a": "a"}
    assert read("[&x 1, *x, &x 2, *x]", "f").value == [1, 1, 2, 2]


# Where it stands


@pytest.mark.parametrize(
    ("path", "key", "mark"),
    [
        ((), False, (1, 1)),
        (("experiment",), True, (1, 1)),
        (("experiment",), False, (1, 13)),
        (("parameters",), False, (3, 3)),
        (("parameters", "files", "step"), True, (4, 26)),
        (("parameters", "files", "range", 1), False, (4, 22)),
        (("require", 1, "where"), True, (11, 47)),
        (("require", 1, "where"), False, (11, 54)),
        (("require", 0), True, (10, 5)),
        (("workload", "nothing"), True, (6, 1)),
        (("workload", "nothing", "at", 3), False, (7, 3)),
        (("require", 7), False, (10, 3)),
        (("require", "x"), True, (9, 1)),
        (("where", "deeper"), False, (5, 8)),
    ],
)
def test_places(path: tuple[str | int, ...], key: bool, mark: tuple[int, int]) -> None:
    assert read(EXAMPLE, "f").locate(path, key=key) == mark


def test_an_alias_stands_where_it_is_written_and_its_parts_where_they_are() -> None:
    found = read("a: &it {b: 2}\nc: *it\n", "f")
    assert found.locate(("c",)) == SourceMark(2, 4)
    assert found.locate(("c", "b")) == SourceMark(1, 12)


# Anything at all

yaml_soup = st.text(alphabet="-:[]{}&*!|>'\"%@`#,?~<$\\ \n\t\rab01.é\x85\u2028\ufeff", max_size=60)
PIECES = """a: |- |? |: |[|]|{|}|&a |*a |!!str |!x |
|
  |'|"||---
|...
|%YAML 1.2
|${a}|<<: |1|2026-02-31|#|\t|.nan|x|>|,"""
words = st.sampled_from(PIECES.split("|"))


def readable(content: str | bytes) -> None:
    """Reads a text; anything but a value or a SourceError is a fault."""
    found: list[Problem] = []
    try:
        assert_plain(
            read_bytes(content, "f").value if isinstance(content, bytes) else read(content, "f").value
        )
    except SourceError as error:
        found = error.problems
        event("refused")
    assert len(found) <= MAX_PROBLEMS
    assert all(problem.line >= 1 and problem.column >= 1 for problem in found)


def assert_plain(value: Any) -> None:
    if isinstance(value, dict):
        assert all(type(key) is str for key in value)
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            assert_plain(part)
    else:
        assert type(value) in {str, int, float, bool, type(None)}


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    readable(content)


@settings(max_examples=400)
@given(st.one_of(st.text(max_size=60), yaml_soup, st.lists(words, max_size=25).map("".join)))
def test_any_text_is_read_or_refused(content: str) -> None:
    readable(content)


@given(st.integers(0, len(EXAMPLE)), st.integers(0, 8), st.lists(words, max_size=2).map("".join))
def test_any_damage_to_a_real_file_is_read_or_refused(at: int, cut: int, insert: str) -> None:
    readable(EXAMPLE[:at] + insert + EXAMPLE[at + cut :])


# Agreement with a second reader


def same_for_ruamel(text: str) -> bool:
    """The core schema takes `.1E5` for a number, ruamel only `.1E+5`; a merge key is our error."""
    return text != "<<" and not re.fullmatch(r"[-+]?\.[0-9]+[eE][0-9]+", text)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**29), 10**29),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20).filter(same_for_ruamel),
    st.text(alphabet="0123456789xeo.-+:_~ ", max_size=8).filter(same_for_ruamel),
    st.sampled_from(["true", "on", "null", "2026-01-01", "2026-13-01", ".inf", "=", "1e5", "0x1F"]),
)
keys = st.text(min_size=1, max_size=8).filter(same_for_ruamel)
trees = st.recursive(
    scalars,
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(keys, below, max_size=4)),
    max_leaves=12,
)
documents = st.dictionaries(keys, trees, min_size=1, max_size=5)


def dumped(document: object) -> str:
    """A document as ruamel writes it; the few that it cannot read back itself (`{:0: 1}`) do not count."""
    out = io.StringIO()
    YAML(typ="safe", pure=True).dump(document, out)
    try:
        same = YAML(typ="safe", pure=True).load(out.getvalue()) == document
    except YAMLError:
        same = False
    assume(same)
    return out.getvalue()


@given(documents)
def test_what_ruamel_dumps_is_read_as_its_own_safe_loader_reads_it(document: dict[str, Any]) -> None:
    assert read(dumped(document), "f").value == document


@given(documents)
def test_places_follow_the_order_of_the_document(document: dict[str, Any]) -> None:
    text = dumped(document)
    found = read(text, "f")
    marks = [found.locate(path, key=True) for path in paths(found.value, ())]
    assert all(first < second for first, second in itertools.pairwise(marks))
    assert all(1 <= mark.line <= len(text.split("\n")) for mark in marks)


def paths(value: Any, path: tuple[str | int, ...]) -> Any:
    """The path of each key, and of each scalar in a list, in the order of the document."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in parts:
        if isinstance(step, str) or not isinstance(part, list | dict):
            yield (*path, step)
        yield from paths(part, (*path, step))


def test_the_names_of_the_reader_are_public() -> None:
    assert all(hasattr(source, name) for name in source.__all__)
