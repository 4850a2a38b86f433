"""PBS's own side: builders and parsers on forms of servers and sources; docs/reference/hosts.md has these."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from patience import PATIENCE
from steelyard.errors import HostError, ParseFailure
from steelyard.sites.kit.batch.job import NODE_FAILED, JobRequest, JobState
from steelyard.sites.pbs import Pbs, PbsOptions

pytestmark = pytest.mark.xdist_group("batch")
benches = loaded(Path(__file__).with_name("benches.py"))
SITE = Pbs(PbsOptions())
LIMIT = "Resource_List.walltime = 01:00:00"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    made = benches.PbsBench(tmp_path, monkeypatch)
    try:
        yield made
    finally:
        made.close()


def said(*lines: str, identity: str = "17.pbs01") -> str:
    return f"Job Id: {identity}\n" + "".join(f"    {line}\n" for line in ("Job_Name = x", *lines)) + "\n"


def job(*lines: str) -> Any:
    return SITE.scheduler.parse_status(said(*lines), 0.0)["17.pbs01"]


def test_submit_line() -> None:
    request = JobRequest(
        "name",
        ("prog",),
        4,
        7201,
        Path("/o/out"),
        Path("/w"),
        "fast",
        "acc",
        "gold",
        "",
        extra_options=("-p", "5"),
    )
    assert SITE.scheduler.submit_argv(request) == (
        "qsub", "-C", "", "-N", "name", "-S", "/bin/sh", "-l", "select=4:ncpus=1",
        "-l", "place=scatter:exclhost", "-l", "walltime=2:00:01", "-j", "oe", "-o", "/o/out", "-r", "n",
        "-l", "qos=gold", "-q", "fast", "-A", "acc", "-p", "5",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("17.pbs01\n", "17.pbs01"),
        ("17.pbs-01.example.org\n", "17.pbs-01.example.org"),
        ("17[].pbs01\n", "17[].pbs01"),
        ("this site says: your project has 3 hours left\n17.pbs01\n", "17.pbs01"),
    ],
)
def test_submitted(text: str, identity: str) -> None:
    assert SITE.scheduler.parse_job_id(text) == identity


@pytest.mark.parametrize("text", ["", "17\n", "qsub: Unknown queue\n", "17.pbs01 is queued\n"])
def test_not_submitted(text: str) -> None:
    with pytest.raises(ParseFailure):
        SITE.scheduler.parse_job_id(text)


# The form of a job of 2022, with its long lines broken as prt_attr breaks them: at a comma, else in a word.
RUNNING = """Job Id: 42635.pbs01
    Job_Name = measure
    Job_Owner = alice@login1.example.org
    resources_used.cpupercent = 0
    resources_used.cput = 00:00:00
    resources_used.walltime = 00:00:10
    job_state = R
    queue = workq
    server = pbs01
    ctime = Fri Jul  1 14:42:57 2022
    Error_Path = login1.example.org:/home/alice/a-long-way-to-the-place-of-the-outpu
\tt/measure.e42635
    exec_host = a-node-with-a-long-name-01/0*48+a-node-with-a-long-name-02/0*48+a-no
\tde-with-a-long-name-03/0*48
    exec_vnode = (a-node-with-a-long-name-01:ncpus=48)+(a-node-with-a-long-name-02:nc
\tpus=48)+(a-node-with-a-long-name-03:ncpus=48)
    Hold_Types = n
    Resource_List.ncpus = 144
    Resource_List.nodect = 3
    Resource_List.place = scatter:exclhost
    Resource_List.select = 3:ncpus=48
    Resource_List.walltime = 100:00:00
    stime = Fri Jul  1 14:43:07 2022
    session_id = 4711
    substate = 42
    Variable_List = PBS_O_HOME=/home/alice,PBS_O_LANG=C.UTF-8,NUMBER=007,
\tQUOTED=a "b" 'c'\\, d \\x,BASH_FUNC_module%%()=() {  eval `modulecmd bash $*`
job_state = Q
 if [ -n "$1" ]; then
}
,PBS_O_WORKDIR=/home/alice
    comment = Job run at Fri Jul 01 at 14:43 on (a-node-with-a-long-name-01:ncpus=48)
\t+(a-node-with-a-long-name-02:ncpus=48)
    etime = Fri Jul  1 14:42:57 2022
    Submit_arguments = -V -l select=3:ncpus=48

"""


def test_long_lines_are_whole_again() -> None:
    found = SITE.scheduler.parse_status(RUNNING, 0.0)["42635.pbs01"]
    assert found.state is JobState.RUNNING
    assert found.hosts == tuple(f"a-node-with-a-long-name-0{number}" for number in (1, 2, 3))
    assert found.limit == 360_000
    assert found.start_time == datetime(2022, 7, 1, 14, 43, 7).timestamp()  # local time


def test_several_jobs() -> None:
    text = said("job_state = Q") + RUNNING + said("job_state = B", identity="18[].pbs01")
    found = SITE.scheduler.parse_status(text, 0.0)
    assert list(found) == ["17.pbs01", "42635.pbs01", "18[].pbs01"]
    assert [each.state for each in found.values()] == [JobState.QUEUED, JobState.RUNNING, JobState.RUNNING]


WAITS = {
    "Not Running: Not enough free nodes available": "free nodes",
    "Not Running: Insufficient amount of resource: ncpus (R: 4 A: 0 T: 16)": "free nodes",
    "Not Running: Job is requesting an exclusive node and node is in use": "free nodes",
    "Not Running: Node is in an ineligible state: offline": "down or out of service",
    "Not Running: Job would conflict with reservation or top job": "higher priority",
    "Not Running: User has reached queue workq running job limit.": "limit of its user",
    "Can Never Run: Insufficient amount of resource: ncpus (R: 99 A: 16 T: 16)": "never start",
    "Not Running: PBS Error: Execution server rejected request": "Execution server rejected request",
    "": "waits in the queue",
}


@pytest.mark.parametrize(("comment", "sentence"), WAITS.items())
def test_why_it_waits(comment: str, sentence: str) -> None:
    found = job("job_state = Q", LIMIT, *([f"comment = {comment}"] if comment else []))
    assert found.state is JobState.QUEUED
    assert sentence in found.sentence


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (("Hold_Types = u", "comment = Job held by alice on Fri Nov 20 18:45:12 2026"), "continue"),
        (
            ("Hold_Types = s", "comment = job held, too many failed attempts to run"),
            "too many failed attempts",
        ),
        (("Hold_Types = so",), "operator"),
        (("Hold_Types = s", "depend = afterok:16.pbs01@pbs01"), "another job"),
    ],
)
def test_held(lines: tuple[str, ...], sentence: str) -> None:
    found = job("job_state = H", *lines)
    assert found.state is JobState.QUEUED
    assert sentence in found.reason


OVER = "resources_used.walltime = 01:00:41"
ENDS = [
    (("Exit_status = 0", "substate = 92"), JobState.DONE, ""),
    (("Exit_status = 3", "substate = 93"), JobState.FAILED, "exit code 3"),
    (("Exit_status = 271", "substate = 91"), JobState.CANCELLED, "SIGTERM"),
    (("Exit_status = 130", "substate = 91"), JobState.CANCELLED, ""),  # it heard SIGTERM and ended by itself
    (("Exit_status = 265", "substate = 93"), JobState.CANCELLED, "SIGKILL"),
    (("Exit_status = -29", OVER, "substate = 93"), JobState.TIMED_OUT, ""),
    (("Exit_status = 271", OVER, "substate = 93"), JobState.TIMED_OUT, ""),  # before version 20
    (("Exit_status = 130", OVER, "substate = 93"), JobState.TIMED_OUT, ""),
    (("Exit_status = 0", OVER, "substate = 92"), JobState.DONE, ""),
    (("Exit_status = -27", "substate = 93"), JobState.FAILED, "more memory"),
    (("Exit_status = -25", "substate = 93"), JobState.FAILED, "more cores"),
    (("Exit_status = -14", "substate = 93"), JobState.FAILED, NODE_FAILED),
    (("Exit_status = -17", "substate = 93"), JobState.FAILED, "-17"),
    (("substate = 91", "comment = Not Running: Node is in an ineligible state: down and terminated"),
     JobState.CANCELLED, ""),
    (("substate = 93", "comment = job held, too many failed attempts to run and terminated"),
     JobState.CANCELLED, ""),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "state", "reason"), ENDS)
def test_ends(lines: tuple[str, ...], state: JobState, reason: str) -> None:
    found = job("job_state = F", LIMIT, *lines)
    assert found.state is state
    assert reason in found.reason
    assert bool(found.reason) == bool(reason)


@pytest.mark.parametrize(
    "text",
    [
        '{\n    "timestamp":1750053827,\n    "pbs_version":"22.05.11",\n    "pbs_server":"pbs01"\n}\n',
        "<Data><Job><Job_Id>17.pbs01</Job_Id></Job></Data>",  # Torque's answer to -x
        said(),
        said("job_state = C"),  # Torque's, of what is over
        said("job_state = F", "Exit_status = nought"),
        said("job_state = R", "stime = yesterday"),
        said("job_state = R", "Resource_List.walltime = soon"),
        "garbage\n",
    ],
)
def test_nonsense(text: str) -> None:
    with pytest.raises(ParseFailure):
        SITE.scheduler.parse_status(text, 0.0)


def test_none_found() -> None:
    assert SITE.scheduler.parse_status("\n", 0.0) == {}


@pytest.mark.parametrize(
    "text",
    [
        "qstat: Unknown Job Id 17.pbs01",
        "qstat: 17.pbs01 Job has finished, use -x or -H to obtain historical job information",
        "qdel: Job 17.pbs01 has finished",
    ],
)
def test_unknown(text: str) -> None:
    assert SITE.scheduler.unknown_job_pattern.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "Connection refused\nqstat: cannot connect to server pbs01 (errno=15010)",
        "No route to host\nqstat: cannot connect to server pbs01 (errno=15010)",
        "No Permission.\nqstat: cannot connect to server pbs01 (errno=15007)",
    ],
)
def test_unreachable(text: str) -> None:
    assert SITE.scheduler.unreachable_pattern.search(text)


def test_finished_and_unknown_jobs_together(bench: Any) -> None:
    """Their exit code is that of the last that was not there; what stood beside it is taken all the same."""

    async def drive() -> None:
        done, failed = [
            await bench.site.submit(bench.request("sh", "-c", word)) for word in ("exit 0", "exit 3")
        ]
        for identity in (done, failed):
            await bench.site.jobs.wait_until(identity, lambda job: job.state.is_over)
        running = await bench.site.submit(bench.request("sleep", "30"))
        found = await bench.site.fetch_jobs([done, running, "999.pbs01", failed])
        states = [job.state for job in found.values()]
        assert states[0] is JobState.DONE
        assert not states[1].is_over
        assert states[2:] == [JobState.LOST, JobState.FAILED]

    asyncio.run(asyncio.wait_for(drive(), PATIENCE))


def test_a_server_without_history(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default. With -x it would tell nothing, with exit code 0, and running jobs would seem lost."""
    monkeypatch.setenv("FAKE_PBS", "forgetful")

    async def drive() -> None:
        running = await bench.site.submit(bench.request("sleep", "30"))
        job = await bench.site.jobs.wait_until(running, lambda job: job.state is not JobState.QUEUED)
        assert job.state is JobState.RUNNING
        over = await bench.run(bench.request("true"))
        assert over.state is JobState.LOST
        await bench.site.jobs.cancel(running)
        assert (
            await bench.site.jobs.wait_until(running, lambda job: job.state.is_over)
        ).state is JobState.LOST

    asyncio.run(asyncio.wait_for(drive(), PATIENCE))


def test_only_operators_suspend(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_PBS", "plain")

    async def drive() -> None:
        identity = await bench.site.submit(bench.request("sleep", "30"))
        await bench.site.jobs.wait_until(identity, lambda job: job.state is JobState.RUNNING)
        with pytest.raises(HostError, match="Unauthorized Request") as caught:
            await bench.site.suspend(identity)
        assert "operators" in caught.value.hint

    asyncio.run(asyncio.wait_for(drive(), PATIENCE))


def test_no_resource_of_that_name(bench: Any) -> None:
    with pytest.raises(HostError, match=r"Unknown resource.*qos"):
        asyncio.run(bench.site.submit(bench.request("true", qos="gold")))
