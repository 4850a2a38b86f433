"""Whether the depth that was asked for was sustained: recorded runs and constructed ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.workloads.kit.fio.depth import (
    engine,
    find_fallback,
    is_direct,
    is_flag_set,
    measure,
    number_option,
)
from steelyard.workloads.kit.fio.output import FioFlow, FioJob, parse

DATA = Path(__file__).parents[3] / "data" / "fio"
LIBAIO = {"ioengine": "libaio", "direct": "1"}


def job(
    *,
    depth: int = 8,
    ios: int = 1000,
    outstanding: float = 8.0,
    submitting: float = 0.1,
    seconds: float = 1.0,
    levels: dict[int, float] | None = None,
    **options: str,
) -> FioJob:
    """A job of one flow with so many I/Os outstanding on average."""
    waited = None if levels else outstanding * seconds
    flow = FioFlow(ios * 4096, ios, seconds, waited, submitting * seconds, {})
    asked = {**LIBAIO, "iodepth": str(depth), **options}
    return FioJob("job", 0, 0, 0, asked, 0.0, 0.0, {"write": flow}, levels or {})


@pytest.mark.parametrize(
    "name",
    [
        *(
            "ska1-run",
            "ska1-filling",
            "ska2-sequential",
            "ska2-random",
            "ska4-move",
            "ska5-write",
            "ska5-read",
        ),
        *("ska6-run", "ska8-read", "ska9-write", "ska9-read", "fio-mixed", "no-latencies"),
    ],
)
def test_recorded_runs_that_sustained_their_depth(name):
    assert find_fallback(parse((DATA / f"{name}.json").read_text()).jobs) == ""


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("libaio-buffered", "libaio without direct I/O submits one I/O at a time, not the 16 requested"),
        ("psync-depth", "engine psync keeps one I/O outstanding, not the 16 requested"),
        ("tmpfs-direct", "16 outstanding I/Os were requested, actual: on average"),
        ("few-ios", "only 4 I/Os were done, but a depth of 32 was requested"),
        ("rounded-depth", "I/Os were outstanding on average, not the 12 requested"),
    ],
)
def test_recorded_runs_that_did_not(name, reason):
    assert reason in find_fallback(parse((DATA / f"{name}.json").read_text()).jobs)


def test_fio_reports_a_full_queue_where_nothing_was_outstanding():
    """Why the depth levels are not believed: the levels of a copy in memory look better than its time."""
    (found,) = parse((DATA / "tmpfs-direct.json").read_text()).jobs
    depth = measure(found)
    assert found.levels[8] + found.levels[16] > 0.5
    assert depth.achieved < 0.6 * depth.asked
    assert depth.submission_share > 0.9


@pytest.mark.parametrize(
    ("depth", "ios", "attainable"),
    [(1, 1000, 0.9995), (64, 128, 48.0), (256, 256, 128.0), (256, 100, 50.0), (8, 80_000, 7.9996)],
)
def test_what_is_attainable_leaves_room_for_filling_and_draining(depth, ios, attainable):
    assert measure(job(depth=depth, ios=ios)).attainable == pytest.approx(attainable)


@pytest.mark.parametrize("depth", [3, 4, 8, 64, 1000])
@pytest.mark.parametrize("taken", [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
def test_a_kernel_that_takes_less_than_half_is_found(depth, taken):
    """Submission that waits after K of D gives a mean of (K + D) / 2."""
    at_once = max(1, round(taken * depth))
    found = find_fallback(
        [job(depth=depth, ios=1000 * depth, outstanding=(at_once + depth) / 2, submitting=0.9)]
    )
    assert bool(found) == (at_once < depth / 2)


def test_filling_and_draining_alone_is_judged_by_the_submission():
    fine = job(depth=256, ios=256, outstanding=128, submitting=0.3)
    full = job(depth=256, ios=256, outstanding=128, submitting=0.75)
    assert find_fallback([fine]) == ""
    assert "about 64 at most; submitting took 75 % of the time" in find_fallback([full])


@pytest.mark.parametrize("unfair", [{"seconds": 0.01}, {"end_fsync": "1"}])
def test_a_time_that_holds_more_than_io_needs_a_second_witness(unfair):
    assert find_fallback([job(outstanding=3.0, submitting=0.1, **unfair)]) == ""
    assert find_fallback([job(outstanding=3.0, submitting=0.7, **unfair)]) != ""
    assert find_fallback([job(outstanding=3.0, submitting=0.1)]) != ""


@pytest.mark.parametrize("limit", ["rate", "rate_iops", "thinktime", "latency_target"])
def test_a_job_that_holds_back_on_purpose_is_not_judged(limit):
    assert find_fallback([job(outstanding=0.1, **{limit: "100"})]) == ""


def test_one_outstanding_is_never_a_fallback():
    assert find_fallback([job(depth=1, outstanding=0.2, ioengine="psync", direct="0")]) == ""
    assert find_fallback([]) == ""


def test_processes_are_judged_together():
    assert find_fallback([job(outstanding=8.0), job(outstanding=5.0), job(outstanding=7.9)]) == ""
    assert find_fallback([job(outstanding=4.5)] * 3) != ""


def test_without_latencies_the_levels_are_believed():
    steady = job(depth=8, ios=1000, levels={1: 0.01, 2: 0.02, 4: 0.03, 8: 0.94})
    lonely = job(depth=8, ios=1000, levels={1: 0.9, 2: 0.1})
    assert find_fallback([steady]) == ""
    assert find_fallback([lonely]) != ""


def test_levels_above_the_last_bound_count_as_the_depth_asked_for():
    found = measure(job(depth=256, ios=100_000, levels={32: 0.0, 64: 1.0}))
    assert found.achieved == 256


def test_options_are_read_as_fio_writes_them():
    odd = job(nrfiles="x", fsync_on_close="")
    assert number_option(odd, "iodepth") == 8
    assert number_option(odd, "nrfiles") == number_option(odd, "numjobs") == 1
    assert is_flag_set(odd, "fsync_on_close")
    assert not is_flag_set(odd, "end_fsync")
    assert engine(job()) == "libaio"
    assert is_direct(job())
    assert not is_direct(job(direct="0"))
    assert is_direct(job(direct="0", buffered="0"))
