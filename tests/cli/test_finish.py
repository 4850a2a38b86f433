"""The end of a run: its exit code, and that it is analysed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from steelyard.analysis import derived, requirements, summary
from steelyard.analysis.comparison import compare_levels
from steelyard.cli.finish import finish

STOLEN = ("disturbed", "steal: the hypervisor took 12.0 % of the CPU time", "steal", 0.12, "%")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"marks": {("a=1", 1): STOLEN}}, 0),
        ({"marks": {("a=1", n): STOLEN for n in range(1, 7)}}, 3),
        ({"marks": {("a=1", n): ("fallback", "buffered") for n in range(1, 7)}}, 3),
        ({"marks": {("a=1", n): STOLEN for n in range(1, 7)}, "require": ["write_bandwidth > 1 TiB/s"]}, 1),
        ({"failures": {("a=1", n): ("crashed", "boom") for n in range(1, 7)}}, 3),
    ],
)
def test_a_run_of_which_nothing_counts_is_no_success(
    changes: Any, code: int, build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    record = build(parameters={"a": [1]}, **changes)
    assert finish(record.folder, as_json=False, undecided="fail") == code
    marked = len(changes.get("marks", ())) == 6 and "require" not in changes
    assert ("no trial counts" in capsys.readouterr().err) == marked


@pytest.mark.parametrize("as_json", [False, True])
def test_table_and_report_share_one_analysis(as_json: bool, build: Any, monkeypatch: Any) -> None:
    """Counted in the functions themselves, whoever calls them."""
    asked = {"parameter": "a", "baseline": 1, "metrics": [], "fail_on": None}
    record = build(parameters={"a": [1, 2]}, require=["write_bandwidth > 1 B/s"], design={"compare": asked})
    parts = (
        (summary, "_summarise"),
        (summary, "list_axes"),
        (requirements, "_judge_requirement"),
        (derived, "_find_supported"),
        (compare_levels, "compare_cells"),
    )
    calls: Counter[str] = Counter()
    for module, name in parts:
        monkeypatch.setattr(module, name, count_calls(calls, name, getattr(module, name)))
    assert finish(record.folder, as_json=as_json, undecided="fail") == 0
    assert calls == {name: 1 for _, name in parts}
    assert record.folder.derived_file("report.html").is_file()


def count_calls(calls: Counter[str], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        calls[name] += 1
        return function(*args, **options)

    return call
