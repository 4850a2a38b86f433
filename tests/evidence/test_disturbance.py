from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patience import until
from steelyard.evidence.disturbance import (
    QUICK,
    THOROUGH,
    Allowance,
    Disturbance,
    HostCounters,
    ProcessUsage,
    judge,
    parse_counters,
    quota_files,
)

Read = Callable[..., dict[str, str]]
ALONE = ("idle", "fio-direct", "fio-buffered")
BESIDE = ("stress-ng", "fio-direct-beside-stress-ng")


def reasons(
    before: HostCounters, after: HostCounters, *, wall: float = 1.0, ours: float = 0.0, **more: Any
) -> list[str]:
    marks = judge(before, after, wall=wall, ours=ours, **more)
    assert all(mark.kind == "disturbed" for mark in marks)
    return [mark.reason for mark in marks]


def judged(recording: dict[str, Any], *, table: bool = True, **changes: Any) -> list[str]:
    before, after = parse_counters(recording["before"]), parse_counters(recording["after"])
    if not table:
        before, after = replace(before, processes=None), replace(after, processes=None)
    facts = {name: recording[name] for name in ("wall", "ours", "own")}
    return reasons(before, after, **{**facts, **changes})


# Recorded on a machine that was quiet but for what the name says.


@pytest.mark.parametrize("table", [True, False])
@pytest.mark.parametrize("name", ALONE)
def test_a_workload_alone_is_not_disturbed(recorded: Callable[[str], Any], name: str, table: bool) -> None:
    assert judged(recorded(f"disturbance-{name}"), table=table) == []


@pytest.mark.parametrize("name", BESIDE)
def test_a_competitor_disturbs_and_is_named(recorded: Callable[[str], Any], name: str) -> None:
    (reason,) = judged(recorded(f"disturbance-{name}"))
    load = re.fullmatch(r"foreign CPU load (\d\.\d\d) cores \(stress-ng-cpu\)", reason)
    assert load
    assert 0.7 < float(load[1]) < 1.1
    (reason,) = judged(recorded(f"disturbance-{name}"), table=False)
    assert re.fullmatch(r"foreign CPU load \d\.\d\d cores", reason)


def test_the_same_process_is_no_competitor_when_it_is_ours(recorded: Callable[[str], Any]) -> None:
    recording = recorded("disturbance-stress-ng")
    table = parse_counters(recording["after"]).processes or {}
    (pid,) = (pid for pid, process in table.items() if process.name == "stress-ng-cpu")
    assert judged(recording, own=[pid], ours=recording["ours"] + 1.0) == []


def test_system_time_is_no_evidence(recorded: Callable[[str], Any]) -> None:
    """Here fio had about a quarter of a second more in the kernel than its rusage says."""
    recording = recorded("disturbance-fio-direct")
    before, after = parse_counters(recording["before"]), parse_counters(recording["after"])
    assert before.wanted is not None
    assert after.wanted is not None
    unexplained = after.wanted - before.wanted - recording["ours"] - recording["ours_system"]
    assert unexplained > 0.2
    assert judged(recording) == []


def test_a_kernel_thread_is_not_foreign(recorded: Callable[[str], Any]) -> None:
    processes = parse_counters(recorded("disturbance-fio-direct")["after"]).processes or {}
    kinds = {process.name.partition("/")[0]: process.kernel for process in processes.values()}
    assert kinds["kworker"]
    assert not kinds["daemon"]


# Arithmetic.


def test_the_allowance_grows_with_the_window() -> None:
    def load(seconds: float, wall: float) -> bool:
        return bool(reasons(HostCounters(user=10.0), HostCounters(user=10.0 + seconds), wall=wall))

    assert [load(0.04, 0.2), load(0.06, 0.2)] == [False, True]
    assert [load(0.95, 10.0), load(1.05, 10.0)] == [False, True]


def test_a_window_too_short_for_the_clock_is_not_judged() -> None:
    assert reasons(HostCounters(user=0.0), HostCounters(user=0.09), wall=0.09) == []
    assert reasons(HostCounters(user=0.0), HostCounters(user=0.1), wall=0.11) == [
        "foreign CPU load 0.91 cores"
    ]


def test_much_load_of_ours_makes_the_sampling_less_sure() -> None:
    one, two = HostCounters(user=0.0), HostCounters(user=640.0 + 2.0)
    assert reasons(one, two, wall=10.0, ours=640.0) == []
    assert reasons(one, two, wall=10.0, ours=1.0) == ["foreign CPU load 64.10 cores"]


def test_what_ran_briefly_is_seen_by_its_user_time_but_has_no_name() -> None:
    one, two = (
        HostCounters(user=user, processes={1: ProcessUsage(1, 0, "init", 5.0, False)}) for user in (3.0, 4.0)
    )
    assert reasons(one, two) == ["foreign CPU load 1.00 cores"]


def test_a_process_that_lives_in_the_kernel_is_seen_by_the_table() -> None:
    one, two = (
        HostCounters(user=3.0, processes={9: ProcessUsage(1, 1, "dd", cpu, False)}) for cpu in (1.0, 1.5)
    )
    assert reasons(one, two) == ["foreign CPU load 0.50 cores (dd)"]


def test_an_id_that_was_used_again_is_another_process() -> None:
    one = HostCounters(user=0.0, processes={9: ProcessUsage(100, 1, "old", 50.0, False)})
    two = HostCounters(user=0.0, processes={9: ProcessUsage(200, 1, "new", 0.4, False)})
    assert reasons(one, two) == ["foreign CPU load 0.40 cores (new)"]


def test_all_below_ours_is_ours() -> None:
    busy = {
        2: ProcessUsage(1, 1, "minder", 9.0, False),
        3: ProcessUsage(1, 2, "sh", 9.0, False),
        4: ProcessUsage(1, 3, "db", 9.0, False),
    }
    idle = {pid: process._replace(cpu=0.0) for pid, process in busy.items()}
    one, two = HostCounters(user=0.0, processes=idle), HostCounters(user=0.0, processes=busy)
    assert reasons(one, two, own=[2]) == []
    assert reasons(one, two, own=[3]) == ["foreign CPU load 9.00 cores (minder)"]


def test_many_small_ones_of_one_name_are_one_load() -> None:
    one = HostCounters(processes={pid: ProcessUsage(1, 1, "worker", 0.0, False) for pid in range(10)})
    two = HostCounters(processes={pid: ProcessUsage(1, 1, "worker", 0.02, False) for pid in range(10)})
    assert reasons(one, two) == ["foreign CPU load 0.20 cores (worker)"]


@pytest.mark.parametrize(
    ("one", "two", "said"),
    [
        (
            HostCounters(steal=0.0, wanted=0.0),
            HostCounters(steal=0.1, wanted=2.0),
            "steal: the hypervisor took 5.0 %",
        ),
        (HostCounters(swapped=0), HostCounters(swapped=300), "swapping: 300 pages per second"),
        (
            HostCounters(hot={"a": 7.0, "b": 1.0}),
            HostCounters(hot={"a": 7.0, "b": 1.04}),
            "heat slowed a CPU down for 4.0 % of",
        ),
        (HostCounters(capped=1.0), HostCounters(capped=1.3), "limited it for 30.0 % of the time"),
    ],
)
def test_other_disturbances(one: HostCounters, two: HostCounters, said: str) -> None:
    (reason,) = reasons(one, two)
    assert said in reason
    assert reasons(one, one) == []


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (HostCounters(steal=0.0, wanted=0.0), HostCounters(steal=0.01, wanted=0.05)),  # a single tick
        (HostCounters(steal=0.0, wanted=0.0), HostCounters(steal=0.1, wanted=10.0)),
        (HostCounters(swapped=0), HostCounters(swapped=200)),
        (HostCounters(hot={"a": 7.0}), HostCounters(hot={"a": 7.01, "b": 9.0})),
        (HostCounters(capped=1.0), HostCounters(capped=1.01)),
        (
            HostCounters(),
            HostCounters(user=9.0, wanted=9.0, steal=9.0, swapped=9999, hot={"a": 9.0}, capped=9.0),
        ),
    ],
)
def test_small_and_unknown_is_nothing(one: HostCounters, two: HostCounters) -> None:
    assert reasons(one, two) == []


@pytest.mark.parametrize(
    "after",
    [
        {"steal": 0.49, "wanted": 1.0},
        {"swapped": 500},
        {"hot": {"a": 0.03}},
        {"capped": 0.03},
        {"user": 0.3},
    ],
)
def test_the_same_rate_disturbs_a_long_trial_and_a_short_one_alike(after: dict[str, Any]) -> None:
    """49 % of steal within 0.1 s is one; what stays as it is becomes none in a trial of ten minutes."""

    def at(share: float) -> HostCounters:
        grown = {name: part * share for name, part in after.items() if name != "hot"}
        heat = {path: part * share for path, part in after.get("hot", {}).items()}
        return HostCounters(**grown, hot=heat)

    for wall in (0.2, 1.0, 600.0):
        assert reasons(replace(at(0.0)), at(wall), wall=wall), wall
    assert not reasons(at(0.0), replace(at(1.0), wanted=600.0), wall=600.0)


def test_steal_is_seen_in_a_tenth_of_a_second() -> None:
    one, two = HostCounters(steal=0.0, wanted=0.0), HostCounters(steal=0.05, wanted=0.1)
    assert reasons(one, two, wall=0.1) == ["steal: the hypervisor took 50.0 % of the CPU time"]


def test_one_period_of_a_quota_in_ten_minutes_is_nothing() -> None:
    assert reasons(HostCounters(capped=0.0), HostCounters(capped=0.1), wall=600.0) == []


def test_marks_tell_how_much_of_what() -> None:
    one, two = HostCounters(steal=0.0, wanted=0.0, user=0.0), HostCounters(steal=0.1, wanted=2.0, user=0.5)
    marks = judge(one, two, wall=1.0, ours=0.0)
    assert [(mark.cause, mark.amount, mark.unit) for mark in marks] == [
        ("foreign CPU load", 0.5, "cores"),
        ("steal", 0.05, "%"),
    ]


def test_another_allowance() -> None:
    one, two = HostCounters(user=0.0), HostCounters(user=0.5)
    assert reasons(one, two, allowance=Allowance(share=0.6)) == []


# Reading.


def test_a_name_may_hold_anything() -> None:
    fields = "S 1 9 9 0 -1 4194560 0 0 0 0 150 50 0 0 20 0 1 0 777 0 0"
    text = f"9 (a) R 2 (\nb) {fields}"
    found = parse_counters({"/proc/9/stat": text, "/proc/self/stat": text, "/proc/8/stat": "gone"}).processes
    assert found == {9: ProcessUsage(777, 1, "a) R 2 (\\nb", 2.0, False, 1.5)}


def test_times_of_throttling_are_read() -> None:
    cpu = "/sys/devices/system/cpu/cpu"
    raw = {
        f"{cpu}0/thermal_throttle/core_throttle_total_time_ms": "200\n",
        f"{cpu}1/thermal_throttle/core_throttle_total_time_ms": "3000\n",
        "/sys/fs/cgroup/a/cpu.stat": "usage_usec 5\nnr_periods 9\nnr_throttled 4\nthrottled_usec 250000\n",
        "/sys/fs/cgroup/cpu/cpu.stat": "nr_periods 9\nnr_throttled 4\nthrottled_time 1500000000\n",
        "/proc/vmstat": "pgpgin 7\npswpin 3\npswpout 4\n",
    }
    found = parse_counters(raw)
    heat = {path: int(text) / 1000 for path, text in raw.items() if path.endswith("time_ms")}
    assert (found.hot, found.capped, found.swapped) == (heat, 1.75, 7)
    assert Disturbance().parse(raw) == {"hot": heat, "capped": 1.75, "swapped": 7}


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("0::/\n", ("/sys/fs/cgroup/cpu.stat",)),
        ("0::/a/b\n", tuple(f"/sys/fs/cgroup{p}/cpu.stat" for p in ("", "/a", "/a/b"))),
        ("3:cpu,cpuacct:/a\n0::/b\n", ("/sys/fs/cgroup/cpu/cpu.stat", "/sys/fs/cgroup/cpu/a/cpu.stat")),
        ("1:name=systemd:/x\n0::/../b\n", ("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/b/cpu.stat")),
        ("", ()),
        ("nonsense", ()),
    ],
)
def test_the_control_groups_above_us(text: str, files: tuple[str, ...]) -> None:
    assert quota_files(text) == files


@given(
    st.dictionaries(
        st.sampled_from(
            ["/proc/stat", "/proc/vmstat", "/proc/7/stat", "/x/cpu.stat", "/x/core_throttle_total_time_ms"]
        ),
        st.text()
        | st.sampled_from(["cpu  1 2 3\n", "cpu " + "9" * 5000 + "\n", "7 (x) " + "-1 " * 30, "pswpin 1\n"]),
    )
)
def test_no_text_is_too_odd(raw: dict[str, str]) -> None:
    found = parse_counters(raw)
    judge(HostCounters(), found, wall=1.0, ours=0.0)
    judge(found, found, wall=1.0, ours=0.0, own=[7])
    quota_files(raw.get("/proc/stat", ""))


def test_this_machine_is_read_whole(read: Read) -> None:
    found = parse_counters(read(THOROUGH))
    assert found.user is not None
    assert found.steal is not None
    assert found.swapped is not None
    me = (found.processes or {})[os.getpid()]
    assert me.parent == os.getppid()
    assert not me.kernel
    assert parse_counters(read(QUICK)).processes is None


# Real load.


@pytest.fixture
def competitor(read: Read) -> Iterator[int]:
    """stress-ng on one CPU, already at work; the id of its worker."""
    if not shutil.which("stress-ng"):
        pytest.skip("stress-ng is not installed")
    hog = subprocess.Popen(["stress-ng", "--cpu", "1", "--timeout", "300"], stderr=subprocess.DEVNULL)
    try:
        yield worker_of(hog.pid, read)
    finally:
        hog.terminate()
        hog.wait()


def worker_of(pid: int, read: Read) -> int:
    def workers() -> list[int]:
        table = parse_counters(read(["/proc/*/stat"])).processes or {}
        return [child for child, process in table.items() if process.parent == pid and process.cpu > 0]

    assert until(workers), "stress-ng did not start to work"
    return workers()[0]


def only(snap: HostCounters, pid: int) -> HostCounters:
    """What it says of the kernel's threads and of one process: others may be at work on this machine too."""
    table = snap.processes or {}
    return HostCounters(processes={p: process for p, process in table.items() if process.kernel or p == pid})


def test_a_real_competitor_disturbs_and_is_named(competitor: int, read: Read) -> None:
    """Where others take the CPUs, it gets little of them; then less than usual is a disturbance."""
    before, start = parse_counters(read(THOROUGH)), time.monotonic()
    after = before
    while spent(after, competitor) < spent(before, competitor) + 0.3:
        time.sleep(0.1)
        after = parse_counters(read(THOROUGH))
    wall, little = time.monotonic() - start, Allowance(share=0.001)
    (reason,) = reasons(only(before, competitor), only(after, competitor), wall=wall, allowance=little)
    assert re.fullmatch(r"foreign CPU load \d\.\d\d cores \(stress-ng-cpu\)", reason)
    quick = [replace(snap, processes=None) for snap in (before, after)]
    assert reasons(*quick, wall=wall, allowance=little)[0].startswith("foreign CPU load")


def spent(seen: HostCounters, pid: int) -> float:
    """CPU seconds of a process."""
    return (seen.processes or {})[pid].cpu


JOBS = {
    "direct": ["--ioengine=libaio", "--direct=1", "--rw=randwrite", "--iodepth=64"],
    "buffered": ["--ioengine=psync", "--rw=write", "--numjobs=2"],
}


def measured(argv: list[str], read: Read) -> tuple[list[str], list[str]]:
    """Run it. What the judge says; and what other evidence there is that others were at work."""
    ours, first, start = user_seconds(), read(THOROUGH), time.monotonic()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    wall, second = time.monotonic() - start, read(THOROUGH)
    before, after = parse_counters(first), parse_counters(second)
    found = reasons(before, after, wall=wall, ours=user_seconds() - ours, own=[os.getpid()])
    return found, others(before, after) + started(first, second)


def user_seconds() -> float:
    return sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def others(before: HostCounters, after: HostCounters) -> list[str]:
    """Programs that used CPU and are neither pytest nor fio: the exact times of the scheduler."""
    earlier = before.processes or {}
    return [
        process.name
        for pid, process in (after.processes or {}).items()
        if not process.kernel and pid != os.getpid()
        if process.cpu - (earlier[pid].cpu if pid in earlier else 0.0) > 0.03
    ]


def started(first: dict[str, str], second: dict[str, str]) -> list[str]:
    """More processes than fio and its jobs were started: they may have ended before we looked."""
    counts = [re.search(r"^processes (\d+)", raw["/proc/stat"], re.MULTILINE) for raw in (first, second)]
    born = int(counts[1][1]) - int(counts[0][1]) if counts[0] and counts[1] else 0
    return [f"{born} processes started"] if born > 20 else []


@pytest.mark.full
@pytest.mark.alone
@pytest.mark.parametrize("job", JOBS)
def test_real_fio_alone_does_not_disturb_itself(job: str, tmp_path: Path, read: Read) -> None:
    if not shutil.which("fio"):
        pytest.skip("fio is not installed")
    fixed = ["--name=x", f"--directory={tmp_path}", "--size=64m", "--bs=4k", "--time_based", "--runtime=1"]
    passed, marked = 0, list[str]()
    for _ in range(15):
        found, evidence = measured(["fio", *fixed, *JOBS[job]], read)
        passed += not (evidence or found)
        marked += found if not evidence else []
        # A stranger that starts and ends within one window leaves no evidence; fio would be in every one.
        assert len(marked) < 3, f"nobody else was at work in three windows, and yet: {marked}"
        if passed == 3:
            return
    pytest.skip(f"machine is not quiet: {passed} of 15 windows were")


def test_the_user_time_of_our_services_is_not_foreign() -> None:
    """A service lives through the trial below our minder (7), so no exit tells what it used."""
    minder, idle = ProcessUsage(1, 1, "minder", 0.0, False), ProcessUsage(5, 7, "iperf3", 1.0, False, 0.2)
    busy = ProcessUsage(5, 7, "iperf3", 3.0, False, 1.4)
    one = HostCounters(user=10.0, processes={7: minder, 9: idle})
    two = HostCounters(user=11.2, processes={7: minder, 9: busy})
    assert reasons(one, two, own=[7]) == []
    assert reasons(one, two, own=[]) != []
