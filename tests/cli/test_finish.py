"""The exit code of a run that is over."""

from __future__ import annotations

from typing import Any

import pytest

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
