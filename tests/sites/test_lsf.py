"""LSF's own side: builders and parsers on forms of servers, manuals; docs/reference/hosts.md has sources."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from patience import PATIENCE
from steelyard.errors import HostError, ParseFailure
from steelyard.sites.kit.batch.job import NODE_FAILED, JobRequest, JobState
from steelyard.sites.kit.batch.options import BatchOptions
from steelyard.sites.lsf import Lsf

pytestmark = pytest.mark.xdist_group("batch")
benches = loaded(Path(__file__).with_name("benches.py"))
SITE = Lsf(BatchOptions())
NOW = 1_800_000_000.0


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    made = benches.LsfBench(tmp_path, monkeypatch)
    try:
        yield made
    finally:
        made.close()


def said(**facts: str) -> str:
    """As 10.1 prints it: every value a string, nothing an empty one, `/` escaped."""
    record = {
        "JOBID": "17", "STAT": "RUN", "EXIT_CODE": "", "EXIT_REASON": "", "PEND_REASON": "",
        "EXEC_HOST": "n1:n2", "RUN_TIME": "57208 second(s)", "TIME_LEFT": "8:06 L", **facts,
    }  # fmt: skip
    text = json.dumps({"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [record]}, indent=2)
    return text.replace('": ', '":').replace("/", "\\/") + "\n"


def job(**facts: str) -> Any:
    return SITE.scheduler.parse_status(said(**facts), NOW)["17"]


def test_submit_line() -> None:
    """The pages of bsub's options in the command reference; `-wa` takes a signal without SIG."""
    request = JobRequest(
        "name", ("prog",), 4, 7201, Path("/o/out"), Path("/w"), "fast", "acc", "gold", "alice#0",
        extra_options=("-app", "io"),
    )  # fmt: skip
    assert SITE.scheduler.submit_argv(request) == (
        "bsub", "-J", "name", "-n", "4", "-R", "span[ptile=1]", "-W", "121", "-o", "/o/out", "-cwd", "/w",
        "-wa", "USR1", "-wt", "1", "-x", "-q", "fast", "-P", "acc", "-sla", "gold", "-U", "alice#0",
        "-app", "io",
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "Job <17> is submitted to default queue <normal>.\n",
        "Job <17> is submitted to queue <short>.\n",
        "Cannot connect to LSF. Please wait ...\nJob <17> is submitted to queue <short>.\n",
        "this site says: 2 cores are taken\nJob <17> is submitted to queue <short>.\n",
    ],
)
def test_submitted(text: str) -> None:
    assert SITE.scheduler.parse_job_id(text) == "17"


@pytest.mark.parametrize("text", ["", "Job not submitted\n", "short: No such queue. Job not submitted.\n"])
def test_not_submitted(text: str) -> None:
    with pytest.raises(ParseFailure):
        SITE.scheduler.parse_job_id(text)


@pytest.mark.parametrize(
    ("facts", "ran", "limit"),
    [
        ({}, 57208, 57208 + 8 * 3600 + 6 * 60),
        ({"RUN_TIME": "15:53:28"}, 57208, 57208 + 8 * 3600 + 6 * 60),  # where LSB_HMS_TIME_FORMAT is set
        ({"RUN_TIME": "100:00:00", "TIME_LEFT": "0:00 L"}, 360000, 360000),
        ({"TIME_LEFT": "8:06 E"}, 57208, None),  # an estimate of LSF's, no limit
        ({"TIME_LEFT": "0:00 X"}, 57208, None),
        ({"TIME_LEFT": ""}, 57208, None),
        ({"TIME_LEFT": "-"}, 57208, None),
    ],
)
def test_times(facts: dict[str, str], ran: float, limit: float | None) -> None:
    found = job(**facts)
    assert (found.state, found.start_time, found.limit) == (JobState.RUNNING, NOW - ran, limit)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1:n1:n2", ("n1", "n2")),
        ("4*n1:4*n2", ("n1", "n2")),
        ("n1.example.org", ("n1.example.org",)),
        ("", ()),
    ],
)
def test_hosts(text: str, hosts: tuple[str, ...]) -> None:
    assert job(EXEC_HOST=text).hosts == hosts


WAITS = {
    "New job is waiting for scheduling;": "waits in the queue",
    "Not enough hosts to meet the job's spanning requirement;": "free hosts",
    "Not enough processors to meet the job's spanning requirement: 7 hosts;": "free hosts",
    "Job's requirement for exclusive execution not satisfied: 3 hosts; Load information unavailable: 1 host;":
        "free hosts",
    "Not specified in job submission: 66 hosts; Running an exclusive job: 2 hosts;": "free hosts",
    "The user has reached his/her job slot limit;": "limit of its user",
    "User has reached the per-user job slot limit of the queue;": "limit of its user",
    "The queue is inactivated by the administrator;": "its queue is closed",
    "Job dependency condition not satisfied;": "another job",
    " Candidate host pending reasons (0 of 4 hosts).\n\n Non-candidate host pending reasons (4 of 4 hosts):\n"
    "  Closed by LSF administrator: 1 host;\n  Not the same type as the submission host: 1 host;\n":
        "closed by the operator",
    "Job's resource requirements not satisfied: 4 hosts;": "requirements not satisfied: 4 hosts",
}  # fmt: skip


@pytest.mark.parametrize(("text", "sentence"), WAITS.items())
def test_why_it_waits(text: str, sentence: str) -> None:
    found = job(STAT="PEND", PEND_REASON=text, EXEC_HOST="", RUN_TIME="0 second(s)", TIME_LEFT="")
    assert found.state is JobState.QUEUED
    assert sentence in found.sentence
    assert (found.start_time, found.limit) == (None, None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("The job was suspended by the user while pending;", "continue"),
        ("Job was suspended by LSF admin or root while pending;", "by the operator"),
        ("", "held"),
    ],
)
def test_held(text: str, sentence: str) -> None:
    found = job(STAT="PSUSP", PEND_REASON=text, EXEC_HOST="")
    assert found.state is JobState.QUEUED
    assert sentence in found.reason


ENDS = [
    ({"STAT": "DONE"}, JobState.DONE, ""),
    ({"STAT": "EXIT", "EXIT_CODE": "3"}, JobState.FAILED, "exit code 3"),
    ({"STAT": "EXIT", "EXIT_CODE": "130", "EXIT_REASON": "TERM_OWNER: job killed by owner"},
     JobState.CANCELLED, ""),
    ({"STAT": "EXIT", "EXIT_CODE": "", "EXIT_REASON": "TERM_OWNER: job killed by owner"},
     JobState.CANCELLED, ""),  # it never ran
    ({"STAT": "EXIT", "EXIT_CODE": "140",
      "EXIT_REASON": "TERM_RUNLIMIT: job killed after reaching LSF run time limit"}, JobState.TIMED_OUT, ""),
    ({"STAT": "EXIT", "EXIT_CODE": "137",
      "EXIT_REASON": "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit"},
     JobState.FAILED, "more memory"),
    ({"STAT": "EXIT", "EXIT_REASON": "TERM_ZOMBIE: job exited while LSF is not available"},
     JobState.FAILED, NODE_FAILED),
    ({"STAT": "EXIT", "EXIT_REASON": "TERM_NEW: something of a later version"},
     JobState.FAILED, "something of a later version"),
    ({"STAT": "USUSP"}, JobState.SUSPENDED, ""),
    ({"STAT": "SSUSP"}, JobState.SUSPENDED, "LSF suspended"),
    ({"STAT": "POST_DONE"}, JobState.DONE, ""),
    ({"STAT": "POST_ERR"}, JobState.DONE, "post-processing failed"),
    ({"STAT": "ZOMBI"}, JobState.FAILED, "no longer answers"),
    ({"STAT": "WAIT", "EXEC_HOST": ""}, JobState.QUEUED, ""),
    ({"STAT": "UNKWN"}, JobState.RUNNING, "lost contact"),
    ({"STAT": "PROV", "EXEC_HOST": ""}, JobState.QUEUED, "prepared"),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "state", "reason"), ENDS)
def test_states(facts: dict[str, str], state: JobState, reason: str) -> None:
    found = job(**facts)
    assert found.state is state
    assert reason in found.reason
    assert bool(found.reason) == bool(reason)


def test_what_stands_before_the_answer_is_no_part_of_it() -> None:
    text = "Cannot connect to LSF. Please wait ...\n" * 2 + said()
    assert SITE.scheduler.parse_status(text, NOW)["17"].state is JobState.RUNNING


@pytest.mark.parametrize(
    "text", ["", "\n", "No job found\n", "No unfinished job found\n", "Job <17> is not found\n"]
)
def test_none_found(text: str) -> None:
    assert SITE.scheduler.parse_status(text, NOW) == {}
    assert not text.strip() or SITE.scheduler.unknown_job_pattern.search(text)


def test_unknown_among_others() -> None:
    answer = json.loads(said())
    answer["RECORDS"].append({"JOBID": "18", "ERROR": "Job <18> is not found"})
    assert list(SITE.scheduler.parse_status(json.dumps(answer), NOW)) == ["17"]


@pytest.mark.parametrize(
    "text",
    ["{", said()[:100], '{"RECORDS":[{"STAT":"RUN"}]}', '{"JOBS":1}', "[]", "garbage", said(STAT="NEW")],
)
def test_nonsense(text: str) -> None:
    with pytest.raises(ParseFailure):
        SITE.scheduler.parse_status(text, NOW)


def test_hosts_of_our_job() -> None:
    variables = {"LSB_JOBID": "17", "LSB_MCPU_HOSTS": "n1 1 n2 1", "LSB_DJOB_HOSTFILE": "/x"}
    assert SITE.scheduler.own_job(variables) == "17"
    assert SITE.scheduler.host_file(variables) == Path("/x")
    assert SITE.scheduler.parse_hosts(variables, "n1\nn1\nn3\n") == ("n1", "n3")
    assert SITE.scheduler.parse_hosts(variables, "") == ("n1", "n2")


def test_settings_that_would_change_the_commands_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """BSUB_QUIET keeps the id from us; BSUB_CHK_RESREQ submits nothing."""
    for name in (
        "BSUB_QUIET",
        "BSUB_CHK_RESREQ",
        "LSB_BJOBS_FORMAT",
        "LSB_JOBID",
        "LSB_DEFAULTQUEUE",
        "LSF_ENVDIR",
    ):
        monkeypatch.setenv(name, "x")
    kept = SITE.calls.make_environment()
    assert {name for name in kept if re.match("BSUB|LSB|LSF", name)} == {"LSB_DEFAULTQUEUE", "LSF_ENVDIR"}


@pytest.mark.parametrize("settings", ["hms short", "busy", "consistent"])
def test_settings_of_a_cluster(bench: Any, monkeypatch: pytest.MonkeyPatch, settings: str) -> None:
    """What lsf.conf may say changes how LSF answers, not what is understood."""
    monkeypatch.setenv("FAKE_LSF", settings)
    monkeypatch.setenv("BSUB_QUIET", "y")

    async def drive() -> None:
        identity = await bench.site.submit(bench.request("sleep", "30", hosts=2, seconds=1800))
        running = await bench.site.jobs.wait_until(identity, lambda job: job.state is JobState.RUNNING)
        assert running.hosts == ("h1", "h2")
        assert running.limit == pytest.approx(1800, abs=60)
        await bench.site.jobs.cancel(identity)
        ended = await bench.site.jobs.wait_until(identity, lambda job: job.state.is_over)
        assert ended.state is JobState.CANCELLED
        found = await bench.site.fetch_jobs([identity, "999999"])
        assert [job.state for job in found.values()] == [JobState.CANCELLED, JobState.LOST]

    asyncio.run(asyncio.wait_for(drive(), PATIENCE))


def test_a_queue_that_takes_no_exclusive_jobs(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LSF", "plain")
    with pytest.raises(HostError, match="does not accept exclusive jobs"):
        asyncio.run(bench.site.submit(bench.request("true")))
    assert asyncio.run(bench.site.submit(bench.request("true", exclusive=False)))


def test_a_step_gets_its_words_and_its_input_as_they_are(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without -no-shell blaunch may hand its words to a shell, as rsh does, which it stands in for."""
    monkeypatch.setenv("LSB_JOBID", "17")
    monkeypatch.setenv("LSB_MCPU_HOSTS", "h1 1 h2 1")

    async def drive() -> tuple[bytes, int]:
        way = bench.site.scheduler.transport("17", "h2", "h2")
        channel = await way.run("read -r line; printf '%s|%s' \"$line\" 'a  b $HOME `x`'; exit 7")
        await channel.send(b"one  two\n")
        output = await channel.stdout.read()
        code = await channel.wait()
        await way.close()
        return output, code

    assert asyncio.run(asyncio.wait_for(drive(), PATIENCE)) == (b"one  two|a  b $HOME `x`", 7)
