"""Conditions of a process: what is asked, and how it is started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import UsageError
from steelyard.model.command import Command
from steelyard.model.kernel_report import format_numbers
from steelyard.model.keys.wrap import Conditions, Wrap

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


class Box:
    """An environment that writes down what it is told."""

    name, needs, limits_itself = "box", (), False

    def enter(self, command, inside):
        return command.wrap("box", str(inside.image), *inside.mounts, inside.at)


def test_what_surrounds_it_is_within_its_other_conditions():
    asked = replace(conditions(image="alpine:3", cpus=0), environments=(Box(),))
    assert (asked.inside, asked.image) == ("container", "alpine:3")
    words = ("taskset", "-c", "0", "box", "alpine:3", "/scratch", "/raw", "/scratch", "prog", "a b")
    assert asked.wrap_command(COMMAND, mounts=("/scratch", "/raw")).argv == words
    elsewhere = Command(("prog",), cwd=PurePosixPath("/data"))
    assert asked.wrap_command(elsewhere).argv[-2:] == ("/data", "prog")


def test_limits_are_held_around_it_or_by_itself():
    asked = replace(conditions(image="alpine:3", memory="64MiB"), environments=(Box(),))
    argv = asked.wrap_command(COMMAND, told="/told").argv
    assert argv.index("67108864") < argv.index("box")
    assert argv[:2] == ("sh", "-c")
    Box.limits_itself = True
    try:
        argv = asked.wrap_command(COMMAND, told="/told").argv
    finally:
        Box.limits_itself = False
    assert "67108864" not in argv
    assert argv[0] == "box"
    assert argv[-3:] == ("/told", "prog", "a b"), "the kernel is asked inside"


def test_a_number_of_cores_is_the_first_that_its_host_allows():
    asked = conditions(cores=2)
    assert asked.choose_cpus((1, 4, 5)).cpus == (1, 4)
    assert "<2 of its host>" in asked.wrap_command(COMMAND).argv
    with pytest.raises(UsageError, match="cores: 2 are asked for, and there are 1"):
        asked.choose_cpus((3,))


def test_a_policy_is_chrts():
    assert conditions(cpu_policy="batch").wrap_command(COMMAND).argv[:3] == ("chrt", "--batch", "0")


def test_on_the_host_there_is_no_image():
    found = conditions(**{"in": "host", "image": "alpine:3"})
    assert not found.any
    assert conditions(**{"in": "podman", "image": "alpine:3"}).inside == "podman"


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
        ({"image": "./a"}, "image: ./a: give its absolute path"),
        ({"cores": 0}, "cores: 0 is not a number of CPUs"),
        ({"cores": 1, "cpus": 0}, "cores: give the number of CPUs or"),
        ({"cpu_policy": "fast"}, "cpu_policy: 'fast' is none of other, batch"),
        ({"memory": "1"}, "memory: '1'"),
        ({"in": "${n}"}, "in: 3 is not the name of an environment"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, says):
    with pytest.raises(UsageError, match=says):
        conditions(**asked)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_lists_are_written_as_they_are_read(numbers):
    listed = tuple(sorted(numbers))
    assert conditions(cpus=format_numbers(listed)).cpus == listed
