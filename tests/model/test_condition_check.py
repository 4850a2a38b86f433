"""What was asked for a process, beside what it got."""

from __future__ import annotations

from steelyard.model.condition_check import ConditionCheck
from steelyard.model.kernel_report import KernelReport
from steelyard.model.keys.wrap import Conditions, Wrap


def test_what_was_not_got_is_marked():
    asked = Conditions.of(Wrap(cpus="0-3", nice=5), {})
    found = ConditionCheck("run", asked, KernelReport((0, 1), (0,), 5))
    assert found.record() == {"cpus": {"asked": "0-3", "got": "0-1"}, "nice": {"asked": "5", "got": "5"}}
    (mark,) = found.marks()
    assert mark.reason == "run: cpus 0-3 was requested, but the kernel reports 0-1"
    assert len(ConditionCheck("run", asked, KernelReport()).marks()) == 2


def test_cores_are_compared_by_their_number():
    check = ConditionCheck("run", Conditions.of(Wrap(cores=2), {}), KernelReport((4, 5)))
    assert check.record() == {"cores": {"asked": "2", "got": "2"}}
    assert check.marks() == []
