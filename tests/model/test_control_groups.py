"""Limits by control groups: what is asked, what the kernel says, and what cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import UsageError
from steelyard.model.command import Command
from steelyard.model.control_groups import ControlGroups, Limits, read_limits

ASKED = {"cpu_quota": "20%", "memory": "64MiB", "io_read": "10MiB/s"}


def test_limits_are_read_as_the_file_says_them():
    limits = Limits.parse(ASKED)
    assert (limits.quota, limits.memory, limits.io_read) == (20_000, 64 << 20, 10 << 20)
    assert limits.describe() == {
        "cpu_quota": "20%",
        "memory": "64MiB",
        "io_read": "10485760B/s",
        "io_write": None,
    }
    assert limits.any
    assert not Limits.parse({"nice": 5}).any
    assert Limits.parse({"cpu_quota": "150%"}).quota == 150_000


def test_memory_is_whole_pages_as_the_kernel_counts():
    assert Limits.parse({"memory": "100MB"}).memory == 100_000_000 // 4096 * 4096


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"cpu_quota": 0.5}, "cpu_quota: 0.5 needs a percent sign: 50% is half of one CPU"),
        ({"cpu_quota": "0.1%"}, "cpu_quota: 0.1% is less than 1%"),
        ({"memory": "64"}, "memory: "),
        ({"memory": "10KiB"}, "memory: 10KiB is less than 1MiB"),
        ({"io_read": "10MiB"}, "io_read: '10MiB' is not a rate"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, says):
    with pytest.raises(UsageError) as caught:
        Limits.parse(asked)
    assert says in caught.value.message


@pytest.mark.parametrize(
    "said",
    [
        "Limit quota 20000 100000\nLimit memory 67108864\nLimit io 8:0 rbps=10485760\n",
        "Limit quota 20000 100000\nLimit memory 67108864\nLimit io 8:0 rbps=10485760 wbps=max riops=max\n",
    ],
    ids=["version 1", "version 2"],
)
def test_what_the_kernel_says_is_what_was_asked(said):
    assert read_limits(said) == Limits.parse(ASKED)


def test_no_limit_is_none():
    assert not read_limits("Limit quota -1 100000\nLimit quota max 100000\nLimit memory max\nLimit io \n").any
    assert not read_limits("").any


@given(st.text(), st.text())
def test_any_text_may_stand_there(text, more):
    read_limits(f"Limit quota {text}\nLimit memory {more}\nLimit io {text}rbps={more}")


def test_the_command_and_its_variables_stay():
    command = Command(("prog", "a b"), {"A": "1"}, secrets={"B": "2"})
    entered = Limits.parse(ASKED).enter(command, "/scratch/told")
    assert entered.argv[-7:] == ("20000", "67108864", "10485760", "", "/scratch/told", "prog", "a b")
    assert (entered.env, entered.secrets) == (command.env, command.secrets)
    assert "steelyard:run:1:2:3:*" in ControlGroups().remove_left("run:1:2:3").argv
