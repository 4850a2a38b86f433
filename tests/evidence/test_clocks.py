from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.evidence.clocks import judge_clocks
from steelyard.hosts.clocks import SUSPENDS, UPTIME, Clocks, read_own_clocks

BEFORE = Clocks(1_795_000_000.0, 5000.0, 0.0001, 4000.0)


@dataclass(frozen=True)
class Later:
    """The clocks `lasted` seconds after BEFORE, of which the machine slept some."""

    lasted: float = 10.0
    step: float = 0.0
    asleep: float = 0.0
    within: float = 0.0001

    @property
    def clocks(self) -> Clocks:
        boot = BEFORE.boot + self.lasted
        awake = 4000.0 + self.lasted - self.asleep
        return Clocks(BEFORE.wall + self.lasted + self.step, boot, self.within, awake)

    @property
    def reasons(self) -> list[str]:
        return [mark.reason for mark in judge_clocks(BEFORE, self.clocks)]


def test_a_step_marks_and_says_how_far_it_went() -> None:
    assert Later(step=3.2).reasons == ["the clock was stepped by +3.20 s during the trial"]
    (mark,) = judge_clocks(BEFORE, Later(step=-3.2).clocks)
    assert (mark.gist, mark.amount, mark.unit) == ("a step of the clock", pytest.approx(3.2), "s")
    assert Later(step=-0.05).reasons == ["the clock was stepped by -0.05 s during the trial"]


def test_a_suspend_marks_and_is_no_step() -> None:
    assert Later(lasted=20, asleep=12).reasons == ["the machine was suspended for 12.00 s during the trial"]


def test_what_ntp_slews_is_no_step() -> None:
    assert Later(lasted=600, step=0.29).reasons == []
    assert Later(lasted=60, step=0.29).reasons != []


def test_a_reading_in_doubt_accuses_nobody() -> None:
    assert Later(step=0.9, within=1.0).reasons == []


def test_a_host_that_does_not_tell_is_not_marked() -> None:
    assert judge_clocks(None, BEFORE) == judge_clocks(BEFORE, None) == ()


def test_without_a_monotonic_clock_the_kernel_counts_suspends() -> None:
    before, after = Clocks(100.0, 50.0, suspends=2), Clocks(130.0, 80.0, suspends=3)
    assert [mark.reason for mark in judge_clocks(before, after)] == [
        "the machine was suspended during the trial"
    ]
    assert judge_clocks(before, after._replace(suspends=2)) == ()
    assert judge_clocks(before, after._replace(suspends=None)) == ()


@given(st.floats(0, 1e6), st.floats(-1, 1))
def test_clocks_that_run_together_are_never_marked(lasted: float, slewed: float) -> None:
    assert Later(lasted=lasted, step=slewed * 0.0005 * lasted).reasons == []


def test_files_tell_of_clocks_between_two_looks() -> None:
    files = {UPTIME: "50.25 99.10\n", SUSPENDS: "2\n"}
    found = Clocks.from_files(files, 100.0, 100.5)
    assert found is not None
    assert (found.wall, found.boot, found.awake, found.suspends) == (100.25, 50.25, None, 2)
    assert found.uncertainty == pytest.approx(0.26)


@pytest.mark.parametrize("text", ["", "soon\n", "-1.00 2.00\n", "nan 1\n"])
def test_files_that_make_no_sense_tell_nothing(text: str) -> None:
    assert Clocks.from_files({UPTIME: text}, 100.0, 100.5) is None


def test_our_own_clocks_agree_with_each_other() -> None:
    assert judge_clocks(read_own_clocks(), read_own_clocks()) == ()


def in_a_time_namespace(*offsets: str) -> Clocks:
    """Our clocks as a process sees them whose monotonic and boot clocks really stand elsewhere."""
    code = "from steelyard.hosts.clocks import read_own_clocks; print(*read_own_clocks()[:4])"
    argv = ["unshare", "--time", "--fork", *offsets, sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no time namespace here: {done.stderr.strip()[-100:]}")
    return Clocks(*map(float, done.stdout.split()))


def test_real_clocks_of_a_machine_that_slept() -> None:
    """The moments between two looks were slept through: the monotonic clock stood, the others went on."""
    (mark,) = judge_clocks(read_own_clocks(), in_a_time_namespace("--monotonic", "-12"))
    assert mark.reason.startswith("the machine was suspended for 12.")


def test_real_clocks_of_a_machine_whose_clock_was_set() -> None:
    """Both others stand back by three seconds, which is the wall clock ahead."""
    (mark,) = judge_clocks(read_own_clocks(), in_a_time_namespace("--monotonic", "-3", "--boottime", "-3"))
    assert mark.reason == "the clock was stepped by +3.00 s during the trial"
