"""What gives way to a run that measures."""

from __future__ import annotations

import os
import time

import pytest

from steelyard.controller.machine.low_priority import lower_priority
from steelyard.evidence.disturbance import Allowance


def test_nothing_is_slowed_down_where_no_run_measures() -> None:
    with lower_priority() as run:
        assert run is None
        assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_beside_a_run_it_takes_less_than_would_mark_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "steelyard.controller.machine.low_priority.find_measuring_run", lambda: "run x of me measures"
    )
    with lower_priority() as run:
        assert run == "run x of me measures"
        assert os.sched_getscheduler(0) == os.SCHED_IDLE
        began, busy = time.monotonic(), time.process_time()
        while time.process_time() < busy + 0.1:
            pass
        share = (time.process_time() - busy) / (time.monotonic() - began)
    assert share < Allowance().share
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
