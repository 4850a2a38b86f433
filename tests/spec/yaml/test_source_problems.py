from __future__ import annotations

import pytest

from steelyard.spec.problem import MAX_PROBLEMS, Problem, Problems, SourceError
from steelyard.spec.yaml.nodes import MAX_BRACKETS, MAX_DEPTH, MAX_NODES, MAX_SCALAR
from steelyard.spec.yaml.source import MAX_BYTES, read, read_bytes


def problems(text: str | bytes) -> list[str]:
    """What is said of a text, without the file's name."""
    with pytest.raises(SourceError) as caught:
        read_bytes(text, "f") if isinstance(text, bytes) else read(text, "f")
    return [str(problem).removeprefix("f:") for problem in caught.value.problems]


GOLDEN: list[tuple[str | bytes, list[str]]] = [
    ("{a: ${b}}", ['1:5  ${…} within brackets must be quoted; quote it: "${b}"']),
    ("x: [1, ${b}]", ['1:8  ${…} within brackets must be quoted; quote it: "${b}"']),
    ("{${a}: 1}", ['1:2  ${…} within brackets must be quoted; quote it: "${a}"']),
    ("[${x}-${y}, 2]", ['1:2  ${…} within brackets must be quoted; quote it: "${x}-${y}"']),
    ("{on: client[:${n}]}", ["1:6  '[' in unquoted text within brackets; quote the entire text"]),
    ("a: [1, 2\nb: 3\n", ["1:4  '[' is not closed before line 2"]),
    ("a: {x: 1", ["1:4  '{' is never closed"]),
    ("a: [", ["1:5  the file ends where a value is expected; is a bracket left open?"]),
    ("a: [b, c}", ["1:9  expected ',' or ']', found '}'"]),
    ("a: [1,,2]", ["1:7  expected a value, found ','"]),
    ("a: [b]]", ["1:7  ']' follows a complete value; quote the entire value"]),
    ("a: 'x\nb: 1\n", ["1:4  the quote ' is never closed"]),
    ('a: "x\n---\n', ['1:4  the quote " is never closed']),
    ("a: 'it's'", ["1:8  more text follows a complete value; quote the entire value"]),
    ("a:\n\tb: 1\n", ["2:1  found a tab; indent and separate with spaces"]),
    ("a: b\t# c\n", ["1:5  found a tab; indent and separate with spaces"]),
    ("experiment x\nabout: y", ["1:1  ': ' is missing in 'experiment x'; a line is 'key: value'"]),
    ("a:b # c\nc: 1", ["1:1  ': ' is missing in 'a:b'; a line is 'key: value'"]),
    ("a: 1\nb\nc: 2\n", ["2:1  ': ' is missing in 'b'; a line is 'key: value'"]),
    ("a: b: c", ["1:5  a second ':' in one value; quote the value if the ':' is part of it"]),
    ("{a: b: c}", ["1:6  a second ':' in one value; quote the value if the ':' is part of it"]),
    (
        "a: 1\n  b: 2\n",
        ["2:3  a key is not allowed here; is it indented too far, or does the previous line continue?"],
    ),
    (
        "a:\n  b: 1\n c: 2\n",
        ["3:2  this line does not match the mapping that began on line 1; check its indentation"],
    ),
    ("- a\nb: 1\n", ["2:1  this line does not match the list that began on line 1; check its indentation"]),
    ("a: - b", ["1:4  a list item '- ' cannot begin here; put it on its own line"]),
    ("a: @x", ["1:4  a value cannot begin with '@'; quote it if it is meant as text"]),
    ("a: *.txt", ["1:4  alias '*.txt' has no anchor '&.txt' before it; quote it if it is meant as text"]),
    ("a: * b", ["1:4  '*' starts an alias; quote text that begins with it"]),
    ("a: >= 3", ["1:4  '>' starts a multi-line text; quote text that begins with it"]),
    (
        'a: "\\q"',
        ["1:6  invalid escape in double quotes; use single quotes, or write '\\\\' for a '\\'"],
    ),
    ('a: "\\UFFFFFFFF"', ["1:2  not valid YAML after this place (OverflowError)"]),
    ("'a' b", ["1:5  more text follows where the file should end; quote the entire value"]),
    ("a: 1\n---\nb: 2", ["2:1  a second document begins here; a file contains one experiment"]),
    ("---\n---\n", ["2:1  a second document begins here; a file contains one experiment"]),
    ("", ["1:1  the file is empty; `steelyard init` writes an example"]),
    ("# nothing\n", ["1:1  the file is empty; `steelyard init` writes an example"]),
    ("---\n", ["1:1  the file is empty; `steelyard init` writes an example"]),
    ("%a\n", ["2:1  the file has no content"]),
    (
        "%YAML 1.1\n---\na: yes",
        ["1:1  the file requests rules other than YAML 1.2; remove the lines that begin with '%'"],
    ),
    ("%YAML 3.0\n---\na: 1", ["1:1  a line that begins with '%' is a YAML directive; remove it"]),
    (f"%YAML {'9' * 5000}.1\n---\na: 1", ["1:1  not valid YAML after this place (ValueError)"]),
    (
        "a: !!python/object/apply:os.system ['x']",
        ["1:4  tag '!!python/object/apply:os.system' is not allowed; experiment files never run code"],
    ),
    ("a: !foo b", ["1:4  tag '!foo' is not allowed; experiment files never run code"]),
    ("a: !foo!bar x", ["1:4  tag '!foo!bar' is not allowed; experiment files never run code"]),
    ("a: !!str [b]", ["1:4  tag '!!str' does not match a list"]),
    ("a: !!int x", ["1:4  'x' does not match its tag '!!int'"]),
    ("<<: {a: 1}", ["1:1  merge keys '<<' are not part of YAML 1.2; repeat the keys here"]),
    ("a: 1\nb: 2\n'a': 3\n", ["3:1  key 'a' was already given on line 1"]),
    ("{a: 1, a: 2}", ["1:8  key 'a' was already given on line 1"]),
    ("1: x", ['1:1  a key must be text, 1 is a number; quote it: "1"']),
    ("true: x", ['1:1  a key must be text, true is a truth value; quote it: "true"']),
    ("~: x", ['1:1  a key must be text, ~ is null; quote it: "~"']),
    (": x", ["1:1  a key is missing before ':'"]),
    ("? [a]\n: 1", ["1:3  a key must be text, found a list or mapping"]),
    ("[&a b, {*a : 1}]", ["1:9  a key must be text, found an alias"]),
    ("&a [*a]", ["1:5  alias '*a' is inside the value that it repeats"]),
    (
        "a: 2026-02-31",
        ["1:4  '2026-02-31' looks like a date that does not exist; quote it if it is meant as text"],
    ),
    (
        "a: 2026-13-01T10:00",
        ["1:4  '2026-13-01T10:00' looks like a date that does not exist; quote it if it is meant as text"],
    ),
    ("a: .inf", ["1:4  '.inf': numbers must be finite; quote it if it is meant as text"]),
    ("a: .NaN", ["1:4  '.NaN': numbers must be finite; quote it if it is meant as text"]),
    ("a: 1e400", ["1:4  '1e400': numbers must be finite; quote it if it is meant as text"]),
    (
        "a: " + "9" * 31,
        [
            f"1:4  '{'9' * 31}': the number has 31 digits, but at most 30 are allowed; "
            "quote it if it is meant as text"
        ],
    ),
    ("a: 1\nb: x\0y", ["2:5  character U+0000 is not allowed in a file; remove it"]),
    ("a: \ud800", ["1:4  character U+D800 is not allowed in a file; remove it"]),
    (b"a: 1\r\nb: \xc3\xa4\xff", ["2:5  byte 0xff is not UTF-8; save the file as UTF-8"]),
    ("\ufeffa: 1".encode("utf-16"), ["1:1  the file is UTF-16; save it as UTF-8"]),
    ("x" * (MAX_BYTES + 1), ["1:1  the file is larger than 128 KiB; split it"]),
    (b"x" * (MAX_BYTES + 1), ["1:1  the file is larger than 128 KiB; split it"]),
    (
        f"a: {'x' * (MAX_SCALAR + 1)}",
        ["1:4  a text has 32,769 characters; at most 32,768 are allowed"],
    ),
]


@pytest.mark.parametrize(("text", "expected"), GOLDEN)
def test_one_mistake_gives_one_message(text: str | bytes, expected: list[str]) -> None:
    assert problems(text) == expected


def test_all_problems_come_at_once_in_the_order_of_the_file() -> None:
    text = "a: .inf\nb: !!python/none x\na: 1\n3: 2026-02-31\nc: *d\ne: [1\nf: 2\n"
    assert [problem.split("  ")[0] for problem in problems(text)] == [
        "1:4",
        "2:4",
        "3:1",
        "4:1",
        "4:4",
        "5:4",
        "6:4",
    ]


def test_of_very_many_problems_some_are_shown_and_all_are_counted() -> None:
    found = problems("a: 1\n" * 301)
    assert len(found) == MAX_PROBLEMS
    assert found[-1] == f"{MAX_PROBLEMS + 1}:1  201 more problems follow; fix those above first"


def test_problems_print_and_sort_by_place() -> None:
    first, second = Problem("bad.yaml", 2, 9, "b"), Problem("bad.yaml", 10, 1, "a")
    assert str(first) == "bad.yaml:2:9  b"
    assert SourceError([second, first]).problems == (first, second)
    assert str(SourceError([second, first])).startswith("bad.yaml:2:9  b\nbad.yaml:10:1  a\n")


def test_no_problem_is_no_error() -> None:
    Problems("f").check()


def test_limits_hold_to_the_last_permitted_value() -> None:
    assert len(read("[" + "1," * (MAX_NODES - 1) + "]", "f").value) == MAX_NODES - 1
    assert "more than 20,000 values" in problems("[" + "1," * MAX_NODES + "]")[0]
    assert read("- " * (MAX_DEPTH - 1) + "x", "f").value
    assert f"nested more than {MAX_DEPTH} deep" in problems("- " * MAX_DEPTH + "x")[0]
    assert read("[" * MAX_BRACKETS + "]" * MAX_BRACKETS, "f").value
    assert "brackets nested" in problems("[" * (MAX_BRACKETS + 1) + "]" * (MAX_BRACKETS + 1))[0]


def test_aliases_count_as_what_they_repeat_in_number_and_in_depth() -> None:
    wide = "a: &a [" + "1," * 9000 + "]\nb: *a\n"
    assert read(wide, "f").value["b"] == [1] * 9000
    assert "alias bomb" in problems(wide + "c: *a\n")[0]
    deep = "".join(f"- &a{n} [[[[[[*a{n - 1}]]]]]]\n" if n else "- &a0 x\n" for n in range(10))
    assert "deep through the alias '*a8'" in problems(deep)[0]
