"""What the kernel says of a process."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.command import Command
from steelyard.model.kernel_report import KernelReport, tell

STATUS = """Name:	sh
Cpus_allowed_list:	0-1,4
Mems_allowed_list:	0-1
"""
STAT = "17 (a (b) c) S 1 17 17 0 -1 4194304 1 0 0 0 0 0 0 0 20 5 1 0 9 1 1\n"


def test_what_the_kernel_says_is_read():
    assert KernelReport.from_text(STATUS + STAT) == KernelReport((0, 1, 4), (0, 1), 5)
    assert KernelReport.from_text(f"{STATUS}{STAT}55901f015000 bind:1 file=/bin/sh\n").memory_nodes == (1,)
    assert KernelReport.from_text(f"{STATUS}{STAT}55901f015000 default file=/bin/sh\n").memory_nodes == (0, 1)


def test_a_policy_is_the_kernels():
    stat = "17 (sh) S " + "0 " * 15 + "5 " + "0 " * 21 + "3 0 0\n"
    assert KernelReport.from_text(stat).policy == "batch"
    assert KernelReport.from_text(stat).nice == 5


@given(st.text())
def test_any_text_may_stand_there(text):
    assert isinstance(KernelReport.from_text(text), KernelReport)


def test_the_kernel_speaks_before_the_program_is_there():
    told = tell(Command(("prog", "a b")), "/scratch/told")
    assert told.argv[-3:] == ("/scratch/told", "prog", "a b")
    assert "report" not in told.argv[2]
    assert "report; }" in tell(Command(("prog",)), "/scratch/told", limits=True).argv[2]
