"""Slurm's own side: builders and parsers on what was recorded, and the hosts of a real job."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from loading import loaded
from patience import PATIENCE
from steelyard.errors import ParseFailure
from steelyard.hosts.call import Answer
from steelyard.model.engine import EngineJob
from steelyard.sites.kit.batch.job import JobRequest, JobState
from steelyard.sites.kit.batch.options import BatchOptions
from steelyard.sites.slurm import Slurm

pytestmark = pytest.mark.xdist_group("batch")
DATA = Path(__file__).parents[1] / "data" / "batch"
SITE = Slurm(BatchOptions())
cluster = loaded(Path(__file__).with_name("slurm_cluster.py"))
slurm_conf = cluster.slurm_conf
benches = loaded(Path(__file__).with_name("benches.py"))


def test_submit_line() -> None:
    request = JobRequest(
        "name", ("prog",), 4, 7201, Path("/o/100%.txt"), Path("/w"), "fast", "acc", "high", "resv",
        extra_options=("--constraint=ib",),
    )  # fmt: skip
    assert SITE.scheduler.submit_argv(request) == (
        "sbatch", "--parsable", "--job-name=name", "--nodes=4", "--ntasks-per-node=1", "--time=121",
        "--output=/o/100%%.txt", "--open-mode=append", "--chdir=/w", "--signal=B:USR1@60", "--no-requeue",
        "--exclusive", "--partition=fast", "--account=acc", "--qos=high", "--reservation=resv",
        "--constraint=ib",
    )  # fmt: skip


def test_a_job_that_is_measured_is_not_warned() -> None:
    """Slurm may send the signal up to a minute early: to a job of a minute at once, before it can heed it."""
    job = EngineJob("name", "0.0", ("prog",), 60.0, 60.0, PurePosixPath("/s/job"))
    command = SITE.engine().submit(job).command
    assert "--time=1" in command.argv
    assert not any(word.startswith("--signal") for word in command.argv)


@pytest.mark.parametrize(("said", "identity"), [("17\n", "17"), ("17;cluster\n", "17")])
def test_submitted(said: str, identity: str) -> None:
    assert SITE.scheduler.parse_job_id(said) == identity


@pytest.mark.parametrize("said", ["", "Submitted batch job 17\n", "17 18", "seventeen"])
def test_what_is_no_job_id(said: str) -> None:
    with pytest.raises(ParseFailure):
        SITE.scheduler.parse_job_id(said)


def test_recorded_squeue() -> None:
    jobs = SITE.scheduler.parse_status((DATA / "squeue-22.05.txt").read_text(), 0.0)
    assert {identity: job.state.value for identity, job in jobs.items()} == {
        "20": "running", "21": "queued", "22": "queued", "23": "queued", "24": "suspended", "25": "cancelled",
        "26": "failed", "27": "done", "28": "queued",
    }  # fmt: skip
    assert jobs["20"].hosts == ("n1", "n2")
    assert jobs["20"].limit == 600
    assert jobs["21"].sentence.endswith("waits for free nodes")
    assert "lower `nodes`" in jobs["28"].sentence
    assert "code other than 0" in jobs["26"].sentence


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("Priority", "waits behind jobs of higher priority"),
        (
            "PartitionTimeLimit",
            "requests more time than the partition allows; it will never start: lower `time`",
        ),
        ("QOSMaxJobsPerUserLimit", "is at a limit of its quality of service (QOSMaxJobsPerUserLimit)"),
        ("AssocGrpCpuLimit", "is at a limit of its account or user (AssocGrpCpuLimit)"),
        ("ReqNodeNotAvail, UnavailableNodes:n2", "nodes that it needs are down, drained or reserved (…)"),
        ("SomethingNew", "SomethingNew"),
        ("None", ""),
    ],
)
def test_reasons(reason: str, sentence: str) -> None:
    job = SITE.scheduler.parse_status(f"1|PENDING||N/A|10:00|{reason}\n", 0.0)["1"]
    assert job.reason == sentence.replace("…", reason)


@pytest.mark.parametrize("word", ["NODE_FAIL", "TIMEOUT", "OUT_OF_MEMORY", "PREEMPTED"])
def test_ends_that_are_not_the_jobs_own(word: str) -> None:
    job = SITE.scheduler.parse_status(f"1|{word}|n1|2026-11-20T20:00:00|10:00|None\n", 0.0)["1"]
    assert job.state.is_over
    assert job.state is not JobState.DONE
    assert {"NODE_FAIL": "a node failed", "TIMEOUT": "limit of 10:00"}.get(word, "") in job.sentence


def test_a_job_that_ends_because_of_a_node_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As recorded from Slurm 22.05.8 when the link of n3 was cut: completing, then over."""
    site = Slurm(BatchOptions())
    said = {
        "squeue": "7|COMPLETING|n[1,4]|2026-11-20T20:00:00|10:00|NodeDown\n",
        "sinfo": "n3\n",
    }
    asked: list[tuple[str, ...]] = []

    async def answer(argv: Sequence[str], **options: object) -> Answer:
        asked.append(tuple(argv))
        return Answer(tuple(argv), 0 if argv[0] in said else 1, said.get(argv[0], ""), "")

    site.calls.caller = answer  # type: ignore[assignment]
    assert asyncio.run(site.describe_failure()) == "", "not in a Slurm job"
    assert not asked
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-4]")
    assert asyncio.run(site.describe_failure()) == "Slurm ends job 7: a node failed (n3)"
    assert "--nodes=n1,n2,n3,n4" in asked[-1], "n3 is none of the job's any more"
    said["squeue"] = "7|NODE_FAIL|n[1-4]|2026-11-20T20:00:00|10:00|NodeDown\n"
    assert asyncio.run(site.jobs.fetch_job("7")).sentence == "job 7 has failed: a node failed (n3)"
    del said["sinfo"]
    assert asyncio.run(site.jobs.fetch_job("7")).sentence == "job 7 has failed: a node failed"
    said["squeue"] = "7|COMPLETING|n[1-4]|2026-11-20T20:00:00|10:00|None\n"
    assert asyncio.run(site.describe_failure()) == "", "somebody cancelled it"


@pytest.mark.parametrize("text", [
    "1|RUNNING|n1", "1|DANCING||N/A|10:00|None", "1|RUNNING|n[1-|N/A|1:00|None", "\0",
    "1|RUNNING|n1|yesterday|1:00|None", "1|RUNNING|n1|N/A|1:b|None",
])  # fmt: skip
def test_nonsense(text: str) -> None:
    with pytest.raises(ParseFailure):
        SITE.scheduler.parse_status(text, 0.0)


def test_history() -> None:
    text = "7|CANCELLED by 1000|n[1-2]|2026-11-20T20:00:00|10:00|0:0\n8|FAILED|n1|Unknown|UNLIMITED|3:0\n"
    jobs = SITE.scheduler.parse_history(text)
    assert jobs["7"].state is JobState.CANCELLED
    assert jobs["8"].sentence == "job 8 has failed: exit code 3"


def test_allocation() -> None:
    assert SITE.scheduler.parse_hosts({"SLURM_JOB_NODELIST": "n[1-2,4],m7"}, "") == ("n1", "n2", "n4", "m7")


def test_variables_of_another_job_do_not_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_ID", "SQUEUE_USERS", "SLURM_CONF", "SBATCH_ACCOUNT", "STEELYARD_TOKEN"):
        monkeypatch.setenv(name, "x")
    found = SITE.calls.make_environment()
    assert {"SLURM_CONF", "SBATCH_ACCOUNT"} <= set(found)
    assert not {"SLURM_JOB_ID", "SQUEUE_USERS", "STEELYARD_TOKEN"} & set(found)


# A real cluster ---------------------------------------------------------------------------------------------

INSIDE = """
import asyncio, sys
from pathlib import Path
from steelyard.errors import HostError
from steelyard.hosts.token import Token
from steelyard.sites.kit.batch.options import BatchOptions
from steelyard.sites.slurm import Slurm

async def main():
    site, token, log = Slurm(BatchOptions()), Token.of("inside"), Path(sys.argv[1])
    try:
        async with site.lease(token, log, 5): pass
    except HostError as error:
        print("refused", error.message)
    async with site.lease(token, log, 4) as hosts:
        for host in hosts:
            said = await host.capture(("sh", "-c", "echo $SLURMD_NODENAME"))
            kind = type(host).__name__
            print("host", host.name, host.address, kind, host.shares_files, (said or "").strip())
    print("end")

asyncio.run(main())
"""


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slurm_conf: Path) -> Iterator[Any]:
    made = benches.SlurmBench(tmp_path, monkeypatch, slurm_conf)
    yield made
    made.close()


def test_the_hosts_of_a_real_job_in_its_order(bench: Any) -> None:
    (bench.place / "inside.py").write_text(INSIDE)
    argv = (sys.executable, str(bench.place / "inside.py"), str(bench.place / "log"))

    async def inside() -> str:
        identity = await bench.site.submit(bench.request(*argv, hosts=4))
        said = await bench.said("end\n")
        assert (
            await bench.site.jobs.wait_until(identity, lambda job: job.state.is_over)
        ).state is JobState.DONE
        return str(said)

    lines = asyncio.run(asyncio.wait_for(inside(), PATIENCE)).splitlines()
    assert "5 hosts were requested, but Slurm job" in lines[0]
    assert "has 4: n1, n2, n3, n4" in lines[0]
    hosts = [line.split() for line in lines if line.startswith("host ")]
    assert [words[1] for words in hosts] == ["n1", "n2", "n3", "n4"]
    assert [words[3] for words in hosts] == ["LocalHost", *["ShellHost"] * 3]
    assert all(words[5] == words[1] and words[4] == "True" for words in hosts)


@pytest.mark.full
def test_the_signal_before_the_limit_reaches_what_the_script_became(bench: Any) -> None:
    """Asked for a warning longer before the limit than that is, Slurm sends it at its next look."""
    request = bench.request(
        "sh", "-c", "trap 'echo warned; exit 0' USR1; while :; do sleep 0.1; done", seconds=60
    )
    argv = bench.site.scheduler.submit_argv(request)
    assert "--signal=B:USR1@30" in argv

    async def warned() -> None:
        site = bench.new(options=("--signal=B:USR1@65535",))
        request_now = site.make_request("n", [], hosts=1, output=bench.output, working_directory=bench.place)
        await site.submit(dataclasses.replace(request_now, argv=request.argv))
        await bench.said("warned")

    asyncio.run(warned())


@pytest.mark.full
def test_slurm_time_limit(bench: Any) -> None:
    async def outlive() -> Any:
        return await bench.run(bench.request("sh", "-c", "trap '' USR1; exec sleep 300", seconds=60))

    ended = asyncio.run(outlive())
    assert ended.state is JobState.TIMED_OUT
    assert ended.sentence.endswith("reached its time limit of 1:00")


@pytest.mark.parametrize(("own", "listening"), [
    ("127.0.0.1", "NoCtldInAddrAny,NoInAddrAny"),
    ("127.0.1.1", "NoCtldInAddrAny"),  # Debian's; called from 127.0.0.1, where srun is called back
])  # fmt: skip
def test_a_loopback_cluster_listens_where_it_is_called_back(
    own: str, listening: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = cluster.load()
    monkeypatch.setattr(code, "_own_address", lambda: own)
    assert code.Loopback(1, tmp_path).listening == listening


def test_a_cluster_leaves_nothing(tmp_path: Path) -> None:
    code = cluster.load()
    if lacking := code.missing():
        pytest.skip(f"not installed: {', '.join(lacking)}")
    place = tmp_path / "cluster"
    made = code.Cluster(place)
    made.up(2)
    assert made.status().count("idle") >= 2
    assert code._marked(str(place))
    with pytest.raises(code.ClusterError, match="already"):
        made.up(2)
    subprocess.run(["sbatch", "--wrap", "sleep 60"], env=made.environment(), check=True, cwd=tmp_path)
    time.sleep(0.5)
    code.Cluster(place).down()  # as another process would
    assert not place.exists()
    assert not code._marked(str(place))
    made.down()
    assert os.path.isdir(tmp_path)  # noqa: PTH112
