"""Conditions of a process: what is asked, how it is started, what the kernel said."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import UsageError
from steelyard.model.command import Command
from steelyard.model.keys.wrap import ConditionCheck, Conditions, KernelReport, Wrap, format_numbers

STATUS = """Name:	sh
Cpus_allowed_list:	0-1,4
Mems_allowed_list:	0-1
"""
STAT = "17 (a (b) c) S 1 17 17 0 -1 4194304 1 0 0 0 0 0 0 0 20 5 1 0 9 1 1\n"
COMMAND = Command(("prog", "a b"), {"A": "1"}, secrets={"PASSWORD": "x"})


def conditions(**asked) -> Conditions:
    return Conditions.of(Wrap(**asked), {"n": 3, "none": None})


def test_each_condition_is_a_program_before_the_command():
    found = conditions(cpus="0-1, 4", memory_node=0, nice="${n + 2}").wrap_command(COMMAND)
    assert found.argv == (
        "nice",
        "-n",
        "5",
        "taskset",
        "-c",
        "0-1,4",
        "numactl",
        "--membind=0",
        "--",
        "prog",
        "a b",
    )
    assert found.env == {"A": "1"}
    assert conditions(nice=-5).wrap_command(COMMAND).argv[:3] == ("nice", "-n", "-5")


def test_null_leaves_one_out():
    assert not conditions().any
    assert not Conditions.of(None, {}).any
    assert not conditions(cpus="${none}", image="${none}", nice=None).any
    assert conditions(cpus="${none}").wrap_command(COMMAND) == COMMAND


def test_a_container_sees_what_it_needs_and_no_secret_is_a_word():
    image = conditions(image="alpine:3")
    argv = image.wrap_command(COMMAND, mounts=("/scratch", "/raw")).argv
    assert argv[:2] == ("podman", "run")
    assert argv[-3:] == ("alpine:3", "prog", "a b")
    assert "/scratch:/scratch" in argv
    assert argv[argv.index("--workdir") + 1] == "/scratch"
    assert {"A", "PASSWORD", "STEELYARD_TOKEN"} <= set(argv)
    assert "x" not in argv
    argv = image.wrap_command(COMMAND, runtime="apptainer", mounts=("/scratch",)).argv
    assert argv == (
        *("apptainer", "--quiet", "exec", "--bind", "/scratch", "--pwd", "/scratch"),
        *("docker://alpine:3", "prog", "a b"),
    )
    elsewhere = Command(("prog",), cwd=PurePosixPath("/data"))
    argv = conditions(image="/i/tool.sif", cpus=0).wrap_command(elsewhere, runtime="apptainer").argv
    assert argv == (
        "taskset",
        "-c",
        "0",
        "apptainer",
        "--quiet",
        "exec",
        "--pwd",
        "/data",
        "/i/tool.sif",
        "prog",
    )


def test_an_image_is_started_by_what_there_is():
    name, file = conditions(image="alpine"), conditions(image="tool.sif")
    assert name.runtime({"podman": True, "apptainer": True}) == "podman"
    assert name.runtime({"apptainer": True}) == "apptainer"
    assert file.runtime({"podman": True}) is None


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"cpus": "0-"}, "cpus: '0-' is not a list of numbers"),
        ({"cpus": "3-1"}, "cpus"),
        ({"cpus": "all"}, "cpus"),
        ({"memory_node": "-1"}, "memory_node"),
        ({"nice": "${n * 10}"}, "nice: 30 is not a whole number from -20 to 19"),
        ({"nice": "much"}, "nice"),
        ({"image": "-v/:/host"}, "image"),
        ({"image": "a b"}, "image"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, says):
    with pytest.raises(UsageError, match=says):
        conditions(**asked)


def test_what_the_kernel_says_is_read():
    assert KernelReport.from_text(STATUS + STAT) == KernelReport((0, 1, 4), (0, 1), 5)
    assert KernelReport.from_text(f"{STATUS}{STAT}55901f015000 bind:1 file=/bin/sh\n").memory_nodes == (1,)
    assert KernelReport.from_text(f"{STATUS}{STAT}55901f015000 default file=/bin/sh\n").memory_nodes == (0, 1)


@given(st.text())
def test_any_text_may_stand_there(text):
    assert isinstance(KernelReport.from_text(text), KernelReport)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_lists_are_written_as_they_are_read(numbers):
    listed = tuple(sorted(numbers))
    assert conditions(cpus=format_numbers(listed)).cpus == listed


def test_what_was_not_got_is_marked():
    asked = conditions(cpus="0-3", nice=5)
    found = ConditionCheck("run", asked, KernelReport((0, 1), (0,), 5))
    assert found.record() == {"cpus": {"asked": "0-3", "got": "0-1"}, "nice": {"asked": "5", "got": "5"}}
    (mark,) = found.marks()
    assert mark.reason == "run: cpus 0-3 was requested, but the kernel reports 0-1"
    assert len(ConditionCheck("run", asked, KernelReport()).marks()) == 2
