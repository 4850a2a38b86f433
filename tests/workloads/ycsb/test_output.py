"""What YCSB's real output means, and that nothing of it may be missing or disagree."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from steelyard.controller.trial.merge import merge_readings
from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output
from steelyard.workloads.ycsb import Ycsb

DATA = Path(__file__).parents[2] / "data" / "contract" / "ycsb"
EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
PLAIN, LOAD, MIXED, TIMED, CACHE = range(5)


def workload(index: int, **options) -> Ycsb:
    return Ycsb(Ycsb.Options.model_validate({**Ycsb.examples[index], **options}))


def recorded(index: int) -> Output:
    folder = DATA / str(index) / ("load" if index == LOAD else "run")
    raw = {path.name: path for path in (folder / "raw").iterdir()}
    return Output(EXIT, (folder / "stdout").read_text(), (folder / "stderr").read_text(), raw)


def said(output: Output, section: str, name: str) -> float:
    return float(re.search(rf"^\[{section}\], {re.escape(name)}, (\S+)$", output.stdout, re.MULTILINE)[1])


@pytest.mark.parametrize(
    ("index", "phase", "sections"),
    [
        (PLAIN, "run", {"read": "READ", "update": "UPDATE"}),
        (LOAD, "load", {"insert": "INSERT"}),
        (MIXED, "run", {"scan": "SCAN", "read_modify_write": "READ-MODIFY-WRITE"}),
    ],
)
def test_figures_are_those_that_ycsb_prints(index, phase, sections):
    output = recorded(index)
    reading = workload(index).parse(phase, output)
    values = reading.values
    assert values["throughput"] == said(output, "OVERALL", "Throughput(ops/sec)")
    for name, section in sections.items():
        assert values[f"{name}_count"] == said(output, section, "Operations")
        assert values[f"{name}_p99"] * 1e6 == pytest.approx(
            said(output, section, "99thPercentileLatency(us)")
        )
        assert values[f"{name}_p95"] * 1e6 == pytest.approx(
            said(output, section, "95thPercentileLatency(us)")
        )
        assert values[f"{name}_max"] * 1e6 == pytest.approx(said(output, section, "MaxLatency(us)"))
        mean = said(output, section, "AverageLatency(us)")
        assert values[f"{name}_mean"] * 1e6 == pytest.approx(mean, rel=2e-3)
        assert sum(reading.histograms[name].values()) == values[f"{name}_count"]
    assert reading.facts["version"] == "0.17.0"


def test_the_first_seconds_are_left_out():
    output, whole = recorded(TIMED), workload(TIMED, omit="0s").parse("run", recorded(TIMED))
    reading = workload(TIMED).parse("run", output)
    assert 0 < reading.values["read_count"] < whole.values["read_count"]
    assert sum(reading.histograms["read_scheduled"].values()) < sum(
        whole.histograms["read_scheduled"].values()
    )
    samples = workload(TIMED).series("run", output)
    done = sum(one.values["throughput"] * one.length for one in samples)
    assert reading.values["throughput"] == pytest.approx(done / sum(one.length for one in samples), rel=0.2)
    with pytest.raises(ParseFailure, match="to be omitted"):
        workload(TIMED, duration="60s", omit="50s").parse("run", output)


def test_with_a_rate_latency_is_also_told_from_the_schedule():
    values = workload(TIMED).parse("run", recorded(TIMED)).values
    assert values["read_scheduled_p50"] >= values["read_p50"]
    assert values["rate_reached"] == pytest.approx(values["throughput"] / 500)


def test_series_have_every_interval_and_declared_metrics():
    whole = workload(TIMED, omit="0s")
    samples = whole.series("run", recorded(TIMED))
    assert len(samples) in (4, 5)
    assert len(workload(TIMED).series("run", recorded(TIMED))) == len(samples) - 2
    assert all(0.5 <= one.length <= 2 for one in samples)
    assert sum(one.values["throughput"] * one.length for one in samples) > 1000
    assert {name for one in samples for name in one.values} <= {metric.name for metric in whole.metrics()}
    for one in (one for one in samples if "read_p50" in one.values):
        assert one.values["read_p50"] <= one.values["read_p99"] <= one.values["read_max"]
        assert one.values["read_scheduled_p50"] >= one.values["read_p50"]
        assert one.values["read_failures"] == 0


def test_copies_merge_their_histograms():
    one = workload(PLAIN)
    reading = one.parse("run", recorded(PLAIN))
    slow = dataclasses.replace(
        reading,
        histograms={
            name: {value * 100: n for value, n in bins.items()} for name, bins in reading.histograms.items()
        },
    )
    both = merge_readings(one.metrics(), {"a": reading, "b": slow})
    assert both.values["throughput"] == 2 * reading.values["throughput"]
    assert both.values["read_count"] == 2 * reading.values["read_count"]
    assert reading.values["read_p99"] < both.values["read_p99"] <= 100 * reading.values["read_max"]


@pytest.mark.parametrize("missing", ["READ.hdr", "UPDATE.hdr"])
def test_a_log_that_is_missing_is_noticed(missing):
    output = recorded(PLAIN)
    raw = {name: path for name, path in output.raw.items() if name != missing}
    with pytest.raises(ParseFailure, match=missing.removesuffix(".hdr")):
        workload(PLAIN).parse("run", dataclasses.replace(output, raw=raw))


def test_a_hole_that_two_threads_of_ycsb_left_hides_nothing(tmp_path):
    output = recorded(PLAIN)
    head, begin, rest = (
        output.raw["READ.hdr"].read_text().partition('"Interval_Max","Interval_Compressed_Histogram"\n')
    )
    assert begin
    (tmp_path / "READ.hdr").write_text(f"{head}{begin}{chr(0) * 300}{rest}")
    raw = {**output.raw, "READ.hdr": tmp_path / "READ.hdr"}
    reading = workload(PLAIN).parse("run", dataclasses.replace(output, raw=raw))
    assert reading == workload(PLAIN).parse("run", output)


def test_a_log_without_one_of_its_intervals_is_noticed(tmp_path):
    output = recorded(PLAIN)
    lines = output.raw["READ.hdr"].read_text().splitlines(keepends=True)
    lines.remove(max(lines, key=len))
    (tmp_path / "READ.hdr").write_text("".join(lines))
    with pytest.raises(ParseFailure, match=r"READ\.hdr has \d+ of"):
        workload(PLAIN).parse(
            "run", dataclasses.replace(output, raw={**output.raw, "READ.hdr": tmp_path / "READ.hdr"})
        )


@pytest.mark.parametrize(
    ("stream", "pattern", "instead", "says"),
    [
        ("stdout", r"^\[OVERALL\].*\n", "", "summary"),
        ("stdout", r"^\[UPDATE\].*\n", "", "measured"),
        ("stdout", r"(\[READ\], Operations), \d+", r"\1, many", "not a number"),
        ("stdout", r"(Throughput\(ops/sec\)), \S+", r"\1, NaN", "an impossible one"),
        ("stderr", r"^YCSB Client.*\n", "", "greeting"),
        ("stderr", r"^\d{4}-.*\n", "", "status lines"),
        ("stderr", r"(sec): \d+ operations", r"\1: 1999 operations", "did 1999 operations"),
    ],
)
def test_what_disagrees_is_refused(stream, pattern, instead, says):
    output = recorded(PLAIN)
    text = re.sub(pattern, instead, getattr(output, stream), flags=re.MULTILINE)
    assert text != getattr(output, stream)
    with pytest.raises(ParseFailure, match=says):
        workload(PLAIN).parse("run", dataclasses.replace(output, **{stream: text}))


def failing(output: Output, tmp_path: Path, section: str, status: str) -> Output:
    """The same with all operations of a kind gone wrong, as YCSB tells that."""
    text = output.stdout.replace(f"[{section}], Return=OK", f"[{section}], Return={status}")
    text = re.sub(rf"^\[{section}\], (?!Return)", f"[{section}-FAILED], ", text, flags=re.MULTILINE)
    raw = dict(output.raw)
    raw[f"{section}-FAILED.hdr"] = raw.pop(f"{section}.hdr")
    return dataclasses.replace(output, stdout=text, raw=raw)


def test_failures_are_counted_and_told(tmp_path):
    output = failing(recorded(PLAIN), tmp_path, "UPDATE", "ERROR")
    output = dataclasses.replace(output, stderr=output.stderr + "operation failed: IOException: gone\n")
    reading = workload(PLAIN).parse("run", output)
    count = said(recorded(PLAIN), "UPDATE", "Operations")
    assert (reading.values["update_count"], reading.values["update_failures"]) == (0, count)
    assert reading.values["failed_share"] == count / 2000
    assert "update_p99" not in reading.values
    assert reading.facts["reasons"] == ["IOException: gone"]


def test_records_that_were_never_loaded_are_named(tmp_path):
    with pytest.raises(ParseFailure, match="load first"):
        workload(PLAIN).parse("run", failing(recorded(PLAIN), tmp_path, "READ", "NOT_FOUND"))


def test_nothing_but_failures_is_no_result(tmp_path):
    output = failing(failing(recorded(PLAIN), tmp_path, "READ", "ERROR"), tmp_path, "UPDATE", "ERROR")
    output = dataclasses.replace(output, stderr=output.stderr + "operation failed: IOException: gone\n")
    with pytest.raises(ParseFailure, match="every operation failed: IOException: gone"):
        workload(PLAIN).parse("run", output)


def test_a_load_may_try_again(tmp_path):
    """Attempts that failed are no operations; here as many as there were at the cache."""
    output, cache = recorded(LOAD), recorded(CACHE)
    tries = said(cache, "INSERT", "Operations")
    again = {"INSERT-FAILED.hdr": cache.raw["INSERT.hdr"]}
    text = f"{output.stdout}[INSERT-FAILED], Operations, {tries:g}\n"
    reading = workload(LOAD).parse(
        "load", dataclasses.replace(output, stdout=text, raw={**output.raw, **again})
    )
    assert (reading.values["insert_count"], reading.values["insert_failures"]) == (2000, tries)
