"""Readings from recorded runs: checked against what fio itself says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.errors import NothingMeasured, ParseFailure
from steelyard.workloads.kit.fio.output import parse
from steelyard.workloads.kit.fio.reading import FioFigures

DATA = Path(__file__).parents[3] / "data" / "fio"
WRITE = FioFigures(("write",))


def recorded(name: str) -> str:
    return (DATA / f"{name}.json").read_text()


def jobs(name: str) -> list:
    text = recorded(name)
    return json.loads(text[text.index("{") :])["jobs"]


def test_bandwidth_and_rate_are_those_that_fio_prints():
    values = WRITE.reading(parse(recorded("ska1-run"))).values
    said = jobs("ska1-run")[0]["write"]
    assert values["write_bandwidth"] == pytest.approx(said["bw_bytes"], rel=1e-6)
    assert values["write_iops"] == pytest.approx(said["iops"], rel=1e-6)


@pytest.mark.parametrize("name", ["ska1-run", "tmpfs-direct", "ska2-random"])
@pytest.mark.parametrize(
    ("quantile", "said"), [("p50", "50"), ("p95", "95"), ("p99", "99"), ("p999", "99.9")]
)
def test_quantiles_of_one_job_are_those_that_fio_prints(name, quantile, said):
    way = "read" if "random" in name else "write"
    values = FioFigures((way,)).reading(parse(recorded(name))).values
    printed = jobs(name)[0][way]["clat_ns"]["percentile"][f"{float(said):.6f}"]
    assert values[f"{way}_latency_{quantile}"] == pytest.approx(printed / 1e9, rel=1e-9)


def test_histograms_of_all_processes_are_added():
    reading = WRITE.reading(parse(recorded("ska9-write")))
    entries = [job["write"]["clat_ns"]["bins"] for job in jobs("ska9-write")]
    assert len(entries) == 3
    merged = reading.histograms["write_latency"]
    assert sum(merged.values()) == sum(sum(bins.values()) for bins in entries) == 3 * 32
    assert set(merged) == {int(key) / 1e9 for bins in entries for key in bins}


def test_processes_at_the_same_time_share_the_longest_run_time():
    values = WRITE.reading(parse(recorded("ska9-write"))).values
    entries = [job["write"] for job in jobs("ska9-write")]
    longest = max(entry["runtime"] for entry in entries) / 1000
    assert values["write_bandwidth"] == pytest.approx(sum(entry["io_bytes"] for entry in entries) / longest)


def test_jobs_after_one_another_add_their_run_times():
    values = WRITE.reading(parse(recorded("ska6-run"))).values
    entries = [job["write"] for job in jobs("ska6-run")]
    total = sum(entry["runtime"] for entry in entries) / 1000
    assert values["write_bandwidth"] == pytest.approx(6 * 2**20 / total)


def test_reads_and_writes_of_a_mixed_job_stand_apart():
    reading = FioFigures(("read", "write")).reading(parse(recorded("fio-mixed")))
    said = jobs("fio-mixed")[0]
    assert reading.values["read_iops"] == pytest.approx(said["read"]["iops"], rel=1e-6)
    assert reading.values["write_iops"] == pytest.approx(said["write"]["iops"], rel=1e-6)
    assert set(reading.histograms) == {"read_latency", "write_latency"}


def test_the_cpu_share_is_that_of_all_processes():
    values = WRITE.reading(parse(recorded("ska9-write"))).values
    entries = jobs("ska9-write")
    seconds = sum(job["sys_cpu"] / 100 * job["job_runtime"] / 1000 for job in entries)
    longest = max(job["write"]["runtime"] for job in entries) / 1000
    assert values["cpu_system"] == pytest.approx(seconds / longest)


def test_only_the_named_job_counts():
    reading = FioFigures(("read",), job_names=frozenset({"read"})).reading(parse(recorded("ska8-read")))
    assert len(jobs("ska8-read")) == 3
    assert reading.facts["ios"] == 256
    assert sum(reading.histograms["read_latency"].values()) == 256


def test_a_label_stands_before_every_metric():
    figures = FioFigures(("read",), label="random_", cpu="random_")
    values = figures.reading(parse(recorded("ska2-random"))).values
    assert values
    assert all(name.startswith("random_") for name in values)
    assert set(values) <= {metric.name for metric in figures.metrics()}


def test_without_latencies_there_is_no_histogram_and_no_quantile():
    reading = WRITE.reading(parse(recorded("no-latencies")))
    assert reading.histograms == {}
    assert set(reading.values) == {"write_bandwidth", "write_iops", "cpu_user", "cpu_system"}


def test_facts_tell_what_really_happened():
    facts = WRITE.reading(parse(recorded("ska1-run"))).facts
    assert facts["fio_version"] == "fio-3.33"
    assert (facts["engine"], facts["direct"], facts["jobs"]) == ("libaio", True, 1)
    assert facts["asked_depth"] == 8
    assert facts["bytes"] == 8 * 2**20
    assert facts["ios"] == 128
    assert facts["io_errors"] == 0
    assert sum(facts["depth_levels"].values()) == pytest.approx(1, abs=0.01)
    json.dumps(facts)


def test_a_direction_that_moved_nothing_is_refused():
    with pytest.raises(NothingMeasured, match=r"fio completed no read in the time .*`runtime` of its job"):
        FioFigures(("read",)).reading(parse(recorded("ska1-run")))


def test_a_job_that_reports_an_error_is_refused():
    with pytest.raises(ParseFailure, match="error number 28"):
        WRITE.reading(parse(recorded("disk-full")))


def test_a_run_too_short_to_be_timed_is_refused():
    said = json.loads(recorded("few-ios"))
    said["jobs"][0]["write"]["runtime"] = 0
    with pytest.raises(ParseFailure, match="less than 1 ms"):
        WRITE.reading(parse(json.dumps(said)))
