"""Records that were edited, torn or written by something else: a report, or one clear error."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.analysis.findings import Findings
from steelyard.analysis.summary import summarise_run
from steelyard.errors import StoreError
from steelyard.report.html import render
from steelyard.report.page import build_page
from steelyard.store.reader import RunRecord

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def reported(folder, path, content):
    """Report on the run with one file replaced, then put it back."""
    kept = path.read_bytes()
    try:
        path.write_text(content)
        return render(build_page(Findings(RunRecord(folder))))
    except StoreError as error:
        return str(error)
    finally:
        path.write_bytes(kept)


DESIGN = (
    "experiment",
    "about",
    "seed",
    "order",
    "repeat",
    "outliers",
    "covers",
    "tags",
    "metrics",
    "require",
    "cells",
)


@settings(max_examples=150, deadline=None, suppress_health_check=(HealthCheck.function_scoped_fixture,))
@given(key=st.sampled_from((*DESIGN, "workload", "before_each", "schema")), value=JSON)
def test_any_value_in_the_design(build_once, key, value):
    design = json.loads(build_once.folder.design.read_text())
    text = json.dumps(design | {key: value})
    assert reported(build_once.folder, build_once.folder.design, text)


@settings(max_examples=60, deadline=None, suppress_health_check=(HealthCheck.function_scoped_fixture,))
@given(value=st.dictionaries(st.sampled_from(["cpu", "memory", "advice", "scratch", "x"]), JSON))
def test_any_environment(build_once, value):
    assert "<section" in reported(build_once.folder, build_once.folder.environment, json.dumps(value))


@settings(max_examples=100, deadline=None, suppress_health_check=(HealthCheck.function_scoped_fixture,))
@given(
    key=st.sampled_from(
        ["parameters", "metrics", "marks", "status", "seconds", "category", "message", "trial", "wall"]
    ),
    value=JSON,
)
def test_any_value_in_a_line_of_the_journal(build_once, key, value):
    lines = build_once.folder.journal.read_text().splitlines()
    at = next(index for index, line in enumerate(lines) if '"trial-ended"' in line)
    lines[at] = json.dumps(json.loads(lines[at]) | {key: value})
    assert reported(build_once.folder, build_once.folder.journal, "\n".join(lines) + "\n")


@pytest.mark.parametrize("number", [1e255, -1, 10**20, "x"])
def test_any_number_of_a_trial(build_once, number):
    lines = build_once.folder.journal.read_text().splitlines()
    at = next(index for index, line in enumerate(lines) if '"trial-ended"' in line)
    lines[at] = json.dumps(json.loads(lines[at]) | {"trial": number})
    text = "\n".join(lines) + "\n"
    path = build_once.folder.journal
    assert reported(build_once.folder, path, text).startswith(f"{path} is damaged: ValueError: ")


@pytest.mark.parametrize("wall", [1e300, -1e300, True, "now", None])
def test_any_clock(build_once, wall):
    lines = build_once.folder.journal.read_text().splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | {"wall": wall})
    assert "Started" in reported(build_once.folder, build_once.folder.journal, "\n".join(lines) + "\n")


def test_an_unknown_policy_in_the_record_is_the_records_fault_and_otherwise_the_callers(build):
    with pytest.raises(StoreError, match=r"the record of run .* is invalid"):
        summarise_run(build(outliers="sometimes"))
    with pytest.raises(ValueError, match="unknown outlier policy"):
        summarise_run(build(), outliers="sometimes")
