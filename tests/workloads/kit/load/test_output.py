"""What the load driver wrote, read without trust."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output
from steelyard.workloads.kit.load.output import parse_output
from steelyard.workloads.object import Object

RECORDED = Path(__file__).parents[3] / "data" / "contract" / "object" / "1" / "run"
EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)


def recorded(stdout: str | None = None, **files: Path) -> Output:
    raw = {path.name: path for path in (RECORDED / "raw").iterdir()}
    text = (RECORDED / "stdout").read_text() if stdout is None else stdout
    return Output(EXIT, text, "", {**raw, **files})


def changed(**values) -> str:
    return json.dumps({**json.loads((RECORDED / "stdout").read_text()), **values})


def made() -> Object:
    return Object(Object.Options.model_validate(Object.examples[1]))


def test_the_first_seconds_are_left_out():
    whole, rest = parse_output(recorded(), 0), parse_output(recorded(), 1)
    assert len(whole.intervals) == len(rest.intervals) + 1
    assert rest.seconds == pytest.approx(3)
    assert 0 < rest.histogram("read").count < whole.histogram("read").count
    assert rest.histogram("read").count == rest.sum_counts("read").done
    with pytest.raises(ParseFailure, match="ended within the 60 s to be omitted"):
        parse_output(recorded(), 60)


def test_series_and_totals_agree():
    samples = made().series("run", recorded())
    reading = made().parse("run", recorded())
    whole = sum(sample.values["throughput"] * sample.length for sample in samples)
    assert reading.values["throughput"] == pytest.approx(whole / sum(each.length for each in samples))
    assert 0 < reading.values["read_scheduled_p50"] <= reading.values["read_scheduled_p99"]
    assert reading.values["success_ratio"] == 1


def test_logs_and_summary_must_agree(tmp_path):
    (tmp_path / "read.hdr").write_text("#[StartTime: 1.0 (seconds since epoch)]\n")
    with pytest.raises(ParseFailure, match=r"read\.hdr has 0 of \d+ requests"):
        parse_output(recorded(**{"read.hdr": tmp_path / "read.hdr"}), 0)


def test_a_driver_that_was_late_is_marked():
    late = recorded(**{"driver-delay.hdr": RECORDED / "raw" / "write-scheduled.hdr"})
    (mark,) = made().parse("run", late).marks
    assert (mark.kind, mark.cause) == ("fallback", "load driver late")
    assert "use more copies or a lower rate" in mark.reason


def test_causes_of_failures_are_kept():
    causes = {"read": {"status 503 SlowDown": 3}}
    assert made().parse("run", recorded(changed(failures=causes))).facts["failures"] == causes


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=50)
@given(
    st.one_of(
        st.text(max_size=200),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=9),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["began", "intervals", "at", "kinds", "read", "done"]), inner, max_size=4
                )
            ),
            max_leaves=9,
        ).map(json.dumps),
    )
)
def test_any_summary_gives_a_reading_or_a_failure(text):
    with pytest.raises(ParseFailure):
        parse_output(dataclasses.replace(recorded(), stdout=text), 0)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=50)
@given(
    st.dictionaries(
        st.sampled_from(["began", "rate", "waited", "unsent", "intervals", "failures"]),
        st.none() | st.integers() | st.lists(st.integers()) | st.text(max_size=5),
        min_size=1,
    )
)
def test_a_summary_with_a_wrong_value_gives_a_reading_or_a_failure(values):
    with contextlib.suppress(ParseFailure):
        made().parse("run", recorded(changed(**values)))
