"""`use: jobs`: what its driver tells becomes figures, or a ParseFailure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output
from steelyard.sites.slurm import Slurm
from steelyard.workloads.jobs import Jobs, JobsOptions

RECORDED = Path(__file__).parents[2] / "data" / "contract" / "jobs"
END = {"over": True, "stamp": 0.001, "left": []}


def workload(**options):
    made = Jobs(JobsOptions(engine="slurm", **options))
    made.engine = Slurm(Slurm.Options()).engine()
    return made


def job(number, attempt=0, *, at=100.0, host="n1", **facts):
    """A job that is submitted in 10 ms, waits 2 s, starts its process in 50 ms and lasts 1 s."""
    stamps = {
        "began": f"{at + 2:.9f}", "ended": f"{at + 3:.9f}", "host": host,
        "processes": [[f"{at + 2.05:.9f}", f"{at + 2.9:.9f}"]],
    }  # fmt: skip
    told = {"job": f"{number}.{attempt}", "submitted": at, "confirmed": at + 0.01, "id": str(number)}
    return {key: value for key, value in {**told, **stamps, **facts}.items() if value is not None}


def without_stamps(**facts):
    return {**dict.fromkeys(("began", "ended", "host", "processes")), **facts}


def parse(made, *lines, phase="run"):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return made.parse(phase, Output(Exit(0, None, 9, 0, 0, 0, 100.0), text, ""))


def test_spans_are_told_by_stamps():
    reading = parse(workload(jobs=2), job(0), job(1, at=101.0), END)
    values = reading.values
    assert values["submit_time_p50"] == pytest.approx(0.01)
    assert values["wait_time_p50"] == pytest.approx(2)
    assert values["launch_time_p50"] == pytest.approx(0.05)
    assert values["turnaround_time_p50"] == pytest.approx(3)
    assert values["throughput"] == pytest.approx(2 / 4)
    assert values["failure_rate"] == 0
    assert reading.facts == {"engine": "Slurm", "attempts": 2, "hosts": 1, "stamp": 0.001, "failures": {}}


def test_a_job_is_launched_when_its_last_process_runs():
    processes = [["102.100000000", "102.900000000"], ["102.600000000", "102.700000000"]]
    reading = parse(workload(jobs=1, processes=2), job(0, processes=processes), END)
    assert reading.values["launch_time_p50"] == pytest.approx(0.6)


def test_failures_are_counted_before_and_after_retries():
    refused = without_stamps(id=None, failure="refused: no")
    failed = {"failure": "ended with code 3", "processes": [["102.050000000"]]}
    lines = (job(0, **refused), job(1, **failed), job(1, 1, at=105.0), job(2), job(0, 1, **refused))
    reading = parse(workload(jobs=3, retries=1), *lines, END)
    assert reading.values["failure_rate"] == pytest.approx(2 / 3)
    assert reading.values["failure_rate_retried"] == pytest.approx(1 / 3)
    assert reading.values["submissions"] == 5
    assert reading.facts["failures"] == {"refused: no": 2, "ended with code 3": 1}
    assert sum(reading.histograms["submit_time"].values()) == 3, "a refusal is no submission"
    assert sum(reading.histograms["turnaround_time"].values()) == 2


def test_the_engine_says_why_a_job_did_not_start():
    said = "0|PENDING||N/A|1:00|JobHeldUser\n"
    lost = without_stamps(failure="did not start within 5 s", said=said)
    reading = parse(workload(jobs=2), job(0, **lost), job(1), END)
    (reason,) = reading.facts["failures"]
    assert reason.startswith("did not start within 5 s; Slurm: job 0 waits in the queue: was held")
    garbage = without_stamps(failure="did not start within 5 s", said="\0|")
    assert parse(workload(jobs=2), job(0, **garbage), job(1), END).facts["failures"]


def test_jobs_that_are_left_mark_the_trial():
    (mark,) = parse(workload(jobs=1), job(0), {**END, "left": ["7"]}).marks
    assert "1 jobs were still in the queue" in mark.reason


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([job(0)], "cut off"),
        ([END], "tells of no job|0 of 1 jobs"),
        ([job(0), job(0), END], "damaged"),
        ([job(1), END], "1 of 1 jobs, or its output is damaged"),
        ([job(0, 1), END], "damaged"),
        ([job(0, began="99.000000000"), END], "clocks of the hosts differ"),
        ([job(0, host="far", ended="101.000000000"), END], "on far are out of order"),
        ([job(0, began="102.N"), END], "does not tell nanoseconds there: '102.N'"),
        ([job(0, processes=[["102.050000000"]]), END], "a process without stamps"),
        ([job(0, **without_stamps()), END], "no stamps of job 0"),
        ([job(0, job="x"), END], "tells of a job 'x'"),
        ([job(0, failure="ended with code 1"), END], "no job that succeeded"),
    ],
)
def test_what_is_no_reading(lines, said):
    with pytest.raises(ParseFailure, match=said):
        parse(workload(jobs=1), *lines)


def test_an_answer_that_is_not_about_the_job_is_no_status():
    made = workload(do="status", jobs=1, queries=1)
    good = {"id": "7", "said": "7|RUNNING|n1|2026-11-25T23:43:55|1:00|None\n"}
    reading = parse(made, {"query": 0.25}, good, END, phase="status")
    assert reading.values["status_time_p50"] == 0.25
    assert reading.facts["answer"] == "job 7 is running on n1"
    for wrong in ({**good, "id": "8"}, {**good, "said": ""}, {**good, "said": "nonsense"}):
        with pytest.raises(ParseFailure):
            parse(made, {"query": 0.25}, wrong, END, phase="status")
    with pytest.raises(ParseFailure, match="asked 0 of 1 times"):
        parse(made, good, END, phase="status")


@given(st.data())
def test_torn_and_altered_output_is_a_parse_failure(data):
    text = (RECORDED / "0" / "run" / "stdout").read_text()
    at = data.draw(st.integers(0, len(text) - 1))
    new = data.draw(st.sampled_from(["", "x", "9", '"', "}", "\n", "null"]))
    harmed = text[:at] + new + text[at + data.draw(st.integers(0, 30)) :]
    made = workload(jobs=6, processes=2, retries=1)
    try:
        reading = made.parse("run", Output(Exit(0, None, 9, 0, 0, 0, 100.0), harmed, ""))
    except ParseFailure:
        return
    assert all(value >= 0 for value in reading.values.values())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"do": "status", "retries": 2}, "retries: only with `do: run`"),
        ({"queries": 5}, "queries: only with `do: status`"),
        ({"limit": "0s"}, "limit: 0s is not from"),
        ({"start_within": "90d"}, "start_within: .* is not from"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        JobsOptions.model_validate({"engine": "slurm", **options})
