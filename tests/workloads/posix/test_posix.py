"""`use: posix`: options, the program's text, what its line says."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output, Place
from steelyard.workloads.posix import Posix, PosixOptions
from steelyard.workloads.posix.groups import GROUPS
from steelyard.workloads.posix.program import main
from steelyard.workloads.posix.source import join_program, list_files

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, seed=7)
CASES = [case for group in main.GROUPS for case in group.cases]
HOST = {"python": "3.11.7", "obstacles": {}}


def made(**options) -> Posix:
    return Posix(PosixOptions.model_validate(options))


def result(group: str, outcome: str, **more: str) -> dict[str, str]:
    return {"group": group, "case": "some_case", "as": "root", "outcome": outcome, **more}


def read(*results: dict[str, str], groups=("open", "link"), **change):
    line = json.dumps({"results": results, **HOST, **change})
    return made(groups=groups).parse("run", Output(EXIT, f"noise\n{line}\n", ""))


def test_shares_count_what_was_tried():
    reading = read(
        result("open", "passed"),
        result("open", "failed", expected="open: EEXIST", got="success", rule="POSIX open: no."),
        result("open", "unsupported", got="ENOTSUP"),
        result("link", "passed"),
        result("link", "timed_out", expected="an end", got="none in 10 s"),
        result("link", "not_applicable", got="no root"),
    )
    values = {"scripts": 2, "tests": 4, "passed": 2, "passed_share": 0.5, "unsupported": 1}
    assert reading.values == {**values, "open_passed": 0.5, "link_passed": 0.5}
    assert reading.facts["table"] == {"open": "1/2", "link": "1/2"}
    assert reading.facts["not_applicable"] == 1


def test_a_failure_names_its_rule_and_what_came():
    rule = "POSIX open: an existing file is EEXIST."
    failed = result("open", "failed", expected="open_file('a'): EEXIST", got="success", rule=rule)
    said = {
        "case": "open.some_case",
        "as": "root",
        "rule": rule,
        "expected": "open_file('a'): EEXIST",
        "got": "success",
    }
    assert read(failed, groups=("open",)).facts["failures"] == [said]


def test_a_group_that_the_system_lacks_has_no_share():
    values = read(result("open", "passed"), result("link", "unsupported")).values
    assert "link_passed" not in values
    assert values["scripts"] == 1


@pytest.mark.parametrize(
    "results",
    [
        [result("open", "passed")],
        [result("open", "passed"), result("link", "passed"), result("rename", "passed")],
        [result("open", "excellent"), result("link", "passed")],
        [{"group": "open"}],
        [],
    ],
)
def test_other_than_what_was_asked_for_is_no_reading(results):
    with pytest.raises(ParseFailure):
        read(*results)


def test_a_place_where_nothing_can_be_tried_says_why():
    with pytest.raises(ParseFailure, match="no case could be tried here: EROFS"):
        read(*(result(group, "not_applicable", got="EROFS: case0") for group in ("open", "link")))


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["results", "group", "case", "as", "outcome", "obstacles", "x"]), inner
        )
    ),
    max_leaves=12,
)


@given(st.text() | JSON.map(json.dumps))
def test_any_output_is_a_reading_or_a_failure(text):
    try:
        values = made(groups=["open"]).parse("run", Output(EXIT, text, "")).values
    except ParseFailure:
        return
    assert 0 <= values["passed_share"] <= 1


@given(st.lists(st.sampled_from(["passed", "failed", "timed_out", "unsupported", "not_applicable"])))
def test_what_is_counted_adds_up(outcomes):
    try:
        values = read(*(result("open", outcome) for outcome in outcomes), groups=("open",)).values
    except ParseFailure:
        assert not {"passed", "failed", "timed_out"} & set(outcomes)
        return
    assert values["passed"] == outcomes.count("passed")
    assert values["tests"] - values["passed"] == outcomes.count("failed") + outcomes.count("timed_out")
    assert values["open_passed"] == values["passed_share"]


@pytest.mark.parametrize(
    "options",
    [
        {"groups": []},
        {"groups": ["open", "open"]},
        {"groups": ["chflags"]},
        {"as": "nobody"},
        {"case_timeout": "0s"},
        {"case_timeout": "11min"},
        {"directory": "relative/path"},
    ],
)
def test_what_is_no_test_is_refused(options):
    with pytest.raises(ValidationError):
        made(**options)


def test_the_program_is_told_what_was_asked():
    command = made(groups=["open"], case_timeout="5s", **{"as": "user"}).command(PLACE)
    assert json.loads(command.argv[-1]) == {"groups": ["open"], "as": "user", "case_timeout": 5.0}
    assert command.cwd == PLACE.scratch


def test_the_program_needs_nothing_of_steelyard_and_an_old_python():
    text = join_program()
    assert "steelyard." not in text
    ast.parse(text, feature_version=(3, 6))


def test_a_name_is_that_of_one_thing_in_all_files():
    names = Counter(
        node.name
        for path in list_files()
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_every_file_is_part_of_the_program():
    folder = list_files()[0].parent
    assert set(folder.glob("*.py")) - set(list_files()) == {folder / "__init__.py"}


def test_the_groups_are_those_of_the_program():
    assert [group.name for group in main.GROUPS] == list(GROUPS)
    assert all(group.cases for group in main.GROUPS)


def test_each_case_gives_its_source_and_its_rule():
    assert len(CASES) >= 150
    source = re.compile(r"(POSIX|Linux|_POSIX|\w+\(\d\)).*?: .+\.$")
    assert [case.name for case in CASES if not source.match(case.text)] == []
    assert {case.who for case in CASES} == {"any", "root", "user"}
