"""`use: memaslap`: options, the command, and what the recorded output does not show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from pydantic import ValidationError

from steelyard.errors import NothingMeasured, ParseFailure
from steelyard.model.command import Endpoint, Exit, Output, Place
from steelyard.workloads.memaslap import Memaslap, MemaslapOptions

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
TO = Endpoint("10.0.0.1", 7000, {"servers": "10.0.0.1:7000,10.0.0.2:7000"})
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, 1, to=TO)
TEXT = (Path(__file__).parents[1] / "data" / "contract" / "memaslap" / "0" / "run" / "stdout").read_text()


def made(**options) -> Memaslap:
    return Memaslap(MemaslapOptions.model_validate(options))


def read(text: str, stderr: str = "", **options):
    return made(**options).parse("run", Output(EXIT, text, stderr))


def test_all_options_reach_the_command_or_its_file():
    command = made(
        get_share="75%",
        key_size=20,
        value_size="2KiB",
        threads=2,
        concurrency=6,
        window=2048,
        multi_get=3,
        duration="7s",
    ).command(replace(PLACE, copy=1))
    words = " ".join(command.argv)
    for part in ("-s 10.0.0.2:7000", "-T 2", "-c 6", "-w 2k", "-d 3", "-t 7s"):
        assert part in words
    assert command.env["CONFIG"] == "key\n20 20 1\nvalue\n2048 2048 1\ncmd\n0 0.250000\n1 0.750000\n"


def test_without_a_server_it_is_a_failure_that_says_what_to_do():
    assert "name a service with 'to:'" in made().command(replace(PLACE, to=None)).argv[-1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"concurrency": 5, "threads": 2}, "5 is not a multiple of 2"),
        ({"duration": "500ms"}, "whole number of seconds"),
        ({"window": 1000}, "multiple of 1024"),
        ({"get_share": "120%"}, "less than or equal to 1"),
        ({"key_size": 8}, "greater than or equal to 16"),
    ],
)
def test_what_cannot_be_is_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        made(**options)


STATISTICS = """{kind} Statistics (10 events)
   Min:        13
   Max:       200
   Avg:        59
   Geo:     54.16
   Std:     62.61
   Log2 Dist:
       4:        2        0        5        2
       8:        1

"""
WHOLE = (
    STATISTICS.format(kind="Get")
    + STATISTICS.format(kind="Set").replace("59", "61")
    + STATISTICS.format(kind="Total")
    + "cmd_get: 8\ncmd_set: 4\nget_misses: 2\nwritten_bytes: 600\nread_bytes: 400\nobject_bytes: 1\n\n"
    + "Run time: 2.0s Ops: 12 TPS: 6 Net_rate: 0.0M/s\n"
)


def test_bins_are_binary_digits_of_microseconds_and_rates_are_exact():
    reading = read(WHOLE)
    assert reading.histograms["latency"] == {15e-6: 2, 63e-6: 5, 127e-6: 2, 255e-6: 1}
    assert reading.values == {
        "rate": 6.0,
        "net_rate": 500.0,
        "latency_p50": 63e-6,
        "latency_p95": 255e-6,
        "latency_p99": 255e-6,
        "latency_p999": 255e-6,
        "latency_mean": 59e-6,
        "latency_stddev": pytest.approx(62.61e-6),
        "latency_max": 200e-6,
        "get_latency_mean": 59e-6,
        "set_latency_mean": 61e-6,
        "misses": 0.25,
    }


def test_a_server_that_went_away_is_no_reading_although_memaslap_ends_well():
    with pytest.raises(ParseFailure, match="lost its server: Failed to write"):
        read(WHOLE, "Failed to write, and not due to blocking.\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Set Statistics", "Other Statistics"),
        ("       8:        1\n", ""),
        ("read_bytes: 400\n", ""),
        ("Ops: 12", "Ops: 0"),
        ("   Geo:     54.16\n", ""),
        ("Run time", "Walk time"),
        ("       8:", "      99:"),
    ],
)
def test_damage_is_no_reading(old, new):
    assert old in WHOLE
    with pytest.raises(ParseFailure):
        read(WHOLE.replace(old, new))


@pytest.mark.parametrize(("kind", "count"), [("get", 8), ("set", 4)])
def test_a_kind_that_never_happened_was_not_measured(kind, count):
    rest = WHOLE.replace(f"{kind.title()} Statistics", "Statistics")
    with pytest.raises(NothingMeasured, match=f"no {kind} was completed"):
        read(rest.replace(f"cmd_{kind}: {count}", f"cmd_{kind}: 0"))


def test_output_that_breaks_off_anywhere_is_no_reading():
    read(TEXT)
    for end in range(0, len(TEXT.rstrip()), 13):
        with pytest.raises(ParseFailure):
            read(TEXT[:end])
