"""`use: boot`: two stamps of a clock, less the start."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output, Place
from steelyard.workloads.boot import Boot, BootOptions

PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, seed=7)


def parse(stdout, started=100.0, wall=3.0):
    return Boot(BootOptions()).parse("run", Output(Exit(0, None, wall, 0, 0, 0, started), stdout, "")).values


def test_both_are_told_from_the_start_on():
    spans = parse("101.500000000\n102.250000000\n")
    assert spans == {"spawn": 1.5, "prompt": 2.25}


def test_the_program_is_what_answers():
    argv = Boot(BootOptions(program=("redis-cli", "ping"))).command(PLACE).argv
    assert argv[-2:] == ("redis-cli", "ping")


@pytest.mark.parametrize("stamps", ["99.000000000\n101.000000000\n", "101.000000000\n900.000000000\n"])
def test_a_clock_that_is_another_one_is_no_reading(stamps):
    with pytest.raises(ParseFailure, match="the clock inside is not that of the host"):
        parse(stamps)


def test_a_clock_without_nanoseconds_is_told():
    with pytest.raises(ParseFailure, match=r"'101.N.*coreutils"):
        parse("101.N\n102.N\n")
