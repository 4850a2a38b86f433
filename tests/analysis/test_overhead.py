from __future__ import annotations

from typing import Any

from steelyard.analysis.overhead import Overhead, sum_overhead


def ended(wall: float = 10.0, controller: float = 0.5, **agents: float | None) -> dict[str, Any]:
    return {"kind": "run-ended", "overhead": {"wall": wall, "controller": controller, "agents": agents}}


STARTED, RESUMED, SUBMITTED = ({"kind": f"run-{what}"} for what in ("started", "resumed", "submitted"))


def test_sittings_add_up() -> None:
    found = sum_overhead([STARTED, ended(n1=0.2, n2=0.1), RESUMED, ended(30.0, 1.5, n1=0.3)])
    assert found == Overhead(40.0, 2.0, {"n1": 0.5, "n2": 0.1}, (), 0)
    assert found.core_share(found.controller) == 0.05


def test_an_agent_that_cannot_tell_is_named() -> None:
    found = sum_overhead([STARTED, ended(n1=0.2, n2=None)])
    assert found == Overhead(10.0, 0.5, {"n1": 0.2}, ("n2",), 0)


def test_a_sitting_that_was_killed_is_counted_as_untold() -> None:
    found = sum_overhead([STARTED, RESUMED, ended(), RESUMED])
    assert found is not None
    assert found.untold == 2


def test_who_only_submitted_a_job_was_no_sitting() -> None:
    found = sum_overhead([STARTED, SUBMITTED, RESUMED, ended(), SUBMITTED, RESUMED, ended()])
    assert found is not None
    assert (found.wall, found.untold) == (20.0, 0)


def test_old_records_tell_nothing() -> None:
    assert sum_overhead([STARTED, {"kind": "run-ended"}]) is None
    assert sum_overhead([]) is None


def test_a_run_without_a_wall_has_no_share() -> None:
    assert Overhead(0.0, 1.0, {}, (), 0).core_share(1.0) == 0.0
