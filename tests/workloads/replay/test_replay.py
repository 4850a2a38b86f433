"""The options of a replay, and what it printed."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import PurePosixPath
from typing import Any

import pytest
from pydantic import ValidationError

from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output, Place
from steelyard.workloads.replay import Replay, ReplayOptions
from steelyard.workloads.replay.output import read_summary

_PLAIN = struct.pack(">IIIIQQd", 0x1C849303, 0, 0, 3, 1, 3_600_000_000_000, 1.0)
_PACKED = zlib.compress(_PLAIN)
EMPTY = (struct.pack(">II", 0x1C849304, len(_PACKED)) + _PACKED).hex()
"""HdrHistogram's V2, compressed, without a value."""
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 1 << 30, 7, plan=PurePosixPath("/s/replay.plan"))
NOTHING: dict[str, Any] = {"calls": 0, "bytes": 0, "latency": "", "recorded": "", "distance": None}
SUMMARY = {
    "version": "0.1.0",
    "trace": "t",
    "left_out": {"flock": 25},
    "streams": 2,
    "operations": 75,
    "seconds": 2.0,
    "recorded_seconds": 1.0,
    "reads": NOTHING,
    "writes": NOTHING,
    "other_results": {"pread": 3},
    "pairs": 10,
    "violations": 1,
    "interarrival_error": None,
}


def replay(**options: Any) -> Replay:
    return Replay(ReplayOptions.model_validate({"trace": "t", **options}))


def parse(workload: Replay, **more: Any) -> Any:
    exit_ = Exit(0, None, 1.0, 0.0, 0.0, 0, 0.0)
    reads = {**NOTHING, "latency": EMPTY}
    text = json.dumps({**SUMMARY, "reads": reads, "writes": reads, **more})
    return workload.parse("run", Output(exit_, f"noise\n{text}\n", "", {}))


def job(workload: Replay, phase: int = 1) -> dict[str, Any]:
    return dict(json.loads(workload.phases(PLACE)[phase].command.argv[-1]))


@pytest.mark.parametrize(
    ("speed", "factor"), [("as-recorded", 1.0), ("asap", 0.0), ("2x", 2.0), ("0.5x", 0.5)]
)
def test_speeds(speed: str, factor: float) -> None:
    assert job(replay(speed=speed))["speed"] == factor


@pytest.mark.parametrize("speed", ["fast", "x", "-2x", "0x", "1e9x", "2", "nanx"])
def test_other_speeds_are_refused(speed: str) -> None:
    with pytest.raises(ValidationError, match="neither as-recorded, nor asap, nor a factor"):
        replay(speed=speed)


def test_the_job_says_what_was_asked_for() -> None:
    asked = job(replay(streams=3, stagger="30s", loop="open"))
    assert asked == {
        "stage": "run",
        "plan": "/s/replay.plan",
        "streams": 3,
        "speed": 1.0,
        "open": True,
        "stagger": 30.0,
        "seed": 7,
    }
    assert job(replay(), 0)["stage"] == "prepare"


def test_the_summary_is_read() -> None:
    nothing = {**NOTHING, "latency": EMPTY}
    summary = read_summary(json.dumps({**SUMMARY, "reads": nothing, "writes": nothing}))
    assert summary.fidelity == {
        "duration_ratio": 2.0,
        "read_distance": None,
        "write_distance": None,
        "interarrival_error": None,
        "other_results": 0.02,
        "order_violations": 0.1,
        "left_out": 0.25,
    }


def test_other_results_mark_the_trial_from_their_limit_on() -> None:
    (mark,) = parse(replay()).marks
    assert mark.cause == "not faithful"
    assert "2.0% of the calls had another result" in mark.reason
    assert parse(replay(most_other_results="2%")).marks == ()
    assert parse(replay(), other_results={}).marks == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}",
        json.dumps({**SUMMARY, "operations": 0}),
        json.dumps({**SUMMARY, "seconds": -1}),
        json.dumps(SUMMARY),
    ],
)
def test_what_is_no_summary_is_refused(text: str) -> None:
    with pytest.raises(ParseFailure):
        read_summary(text)
