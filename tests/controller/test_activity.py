"""What a journal says that a cluster does."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from steelyard.controller.activity import describe_line, find_activity


def told(*kinds: str, recovers: bool = False, **last: Any) -> str:
    wall = count(100.0)
    lines: list[dict[str, Any]] = [{"kind": kind, "wall": next(wall)} for kind in kinds]
    if lines:
        lines[-1] |= last
    return find_activity(lines, recovers=recovers).what


BEGUN = ("run-started", "scratch", "trial-started")
UP = (*BEGUN, "service-ready")


@pytest.mark.parametrize(
    ("kinds", "what"),
    [
        ((), "starting"),
        (("run-started", "run-submitted"), "waiting for its job"),
        (("run-started", "run-submitted", "run-resumed"), "starting"),
        (BEGUN, "deploying the database"),
        (UP, "running the application"),
        ((*UP, "warning"), "running the application"),
        ((*UP, "snapshot-begun"), "taking a snapshot"),
        ((*UP, "snapshot-begun", "snapshot-taken"), "running the application"),
        ((*UP, "snapshot-begun", "snapshot-failed"), "running the application"),
        ((*UP, "trial-ended", "run-held"), "holding"),
        ((*UP, "trial-ended", "run-held", "snapshot-begun"), "taking a snapshot"),
        ((*UP, "trial-ended", "run-held", "snapshot-begun", "snapshot-taken"), "holding"),
        ((*UP, "snapshot-begun", "trial-ended"), "ending"),
    ],
)
def test_what_is_going_on(kinds: tuple[str, ...], what: str) -> None:
    assert told(*kinds) == what


def test_one_that_recovers_does_so_before_its_application_runs() -> None:
    assert told(*UP, recovers=True) == "recovering a snapshot"
    assert told(*UP, "snapshot-recovered", recovers=True) == "running the application"


def test_since_when_and_how_it_ended() -> None:
    assert (
        find_activity([{"kind": "trial-started", "wall": 7.0}, {"kind": "warning", "wall": 9.0}]).since == 7.0
    )
    assert told(*UP, "trial-ended", "run-ended", state="failed") == "ended: failed"


def test_sentences() -> None:
    ready = {
        "kind": "service-ready",
        "hosts": ["a", "b"],
        "seconds": 12.5,
        "address": "10.0.0.1",
        "port": 9042,
    }
    assert describe_line(ready) == "the database is up on 2 nodes after 12.5 s: 10.0.0.1 port 9042"
    taken = {"kind": "snapshot-taken", "snapshot": "s1", "bytes": 2**20, "rows": 7, "seconds": 1.5}
    assert describe_line(taken) == "snapshot s1 is complete: 1.00 MiB, about 7 rows, 1.50 s"
    assert "stop" in describe_line({"kind": "run-held"})
    assert describe_line({"kind": "scratch"}) == ""
