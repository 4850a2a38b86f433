"""One suite over every batch site: what `BatchSite` promises, on a real scheduler or a stand-in."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import re
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from loading import loaded
from patience import PATIENCE
from steelyard.errors import HostError, UsageError
from steelyard.model.engine import EngineJob
from steelyard.sites.kit.batch.job import JobState
from steelyard.sites.kit.batch.scheduler import NamesJobs
from steelyard.sites.kit.batch.script import ENDS
from steelyard.units import Duration

HERE = Path(__file__).parent
slurm_conf = loaded(HERE / "slurm_cluster.py").slurm_conf
gridengine = loaded(HERE / "gridengine_cluster.py").gridengine
hyperqueue = loaded(HERE / "hyperqueue_server.py").hyperqueue
benches = loaded(HERE / "benches.py")


def awaited(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test that is a coroutine; a scheduler takes its time on a busy machine."""

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(asyncio.wait_for(test(**fixtures), PATIENCE))

    return run


pytestmark = pytest.mark.xdist_group("batch")


CLUSTERS = {
    "slurm": "slurm_conf",
    "gridengine": "gridengine",
    "htcondor-pool": "htcondor_pool",
    "hyperqueue": "hyperqueue",
}
HEAVY = {"htcondor-pool": pytest.mark.full}


@pytest.fixture(params=[pytest.param(name, marks=HEAVY.get(name, ())) for name in sorted(benches.BENCHES)])
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    more = [request.getfixturevalue(CLUSTERS[request.param])] if request.param in CLUSTERS else []
    made = benches.BENCHES[request.param](tmp_path, monkeypatch, *more)
    try:
        yield made
    finally:
        made.close()


@awaited
async def test_a_job_runs_with_what_was_asked_for(bench: Any) -> None:
    said = 'echo "$NAME|$PWD|$1|$(date +%s)|$' + ENDS + '"'
    request = bench.request(
        "sh", "-c", said, "sh", 'it\'s $HOME `x` "y" \\', environment={"NAME": "a $b 'c'"}
    )
    ended = await bench.run(request)
    assert ended.state is JobState.DONE, ended
    name, place, word, now, ends = (await bench.said("\n")).strip().splitlines()[0].split("|")
    assert (name, place, word) == ("a $b 'c'", str(bench.place), 'it\'s $HOME `x` "y" \\')
    assert 590 <= int(ends) - int(now) <= 600


@awaited
async def test_the_states_of_a_job_come_in_order(bench: Any) -> None:
    seen = bench.place / "seen"
    identity = await bench.site.submit(
        bench.request("sh", "-c", 'until [ -e "$1" ]; do sleep 0.1; done', "sh", str(seen))
    )
    states = []
    async for job in bench.site.jobs.follow(identity):
        states.append(job.state)
        if job.state is JobState.RUNNING:
            seen.touch()
    assert states[-1] is JobState.DONE
    assert states == sorted(states, key=list(JobState).index)
    assert JobState.RUNNING in states


@awaited
async def test_a_job_that_fails(bench: Any) -> None:
    ended = await bench.run(bench.request("sh", "-c", "exit 3"))
    assert ended.state is JobState.FAILED
    assert "code" in ended.sentence


@awaited
async def test_the_job_that_runs_tells_its_hosts_and_its_limit(bench: Any) -> None:
    before = int(time.time())  # schedulers speak in whole seconds
    identity = await bench.site.submit(bench.request("sleep", "300", hosts=2, seconds=1800))
    job = await bench.site.jobs.wait_until(identity, lambda job: job.state is JobState.RUNNING)
    assert len(job.hosts) == min(2, bench.hosts)
    assert job.limit == pytest.approx(1800, abs=60)
    assert before <= job.start_time <= time.time()
    assert job.hosts[0] in job.sentence


@awaited
async def test_many_jobs_cost_one_call(bench: Any) -> None:
    request = bench.request("sleep", "300", hosts=4)
    ids = await bench.site.submission.submit_all([request] * 5)
    assert len(set(ids)) == 5
    bench.calls.clear()
    found = await bench.site.fetch_jobs(ids)
    assert len(bench.calls) == 1
    assert list(found) == list(ids)
    assert all(not job.state.is_over for job in found.values())


@awaited
async def test_a_job_that_waits_says_why(bench: Any) -> None:
    first = await bench.site.submit(bench.request("sleep", "300", hosts=4))
    await bench.site.jobs.wait_until(first, lambda job: job.state is JobState.RUNNING)
    second = await bench.site.submit(bench.request("sleep", "300", hosts=4))
    job = await bench.site.jobs.wait_until(second, lambda job: bool(job.reason))
    assert job.state is JobState.QUEUED
    assert "free" in job.sentence


@awaited
async def test_a_job_that_can_never_start_says_so(bench: Any) -> None:
    try:
        identity = await bench.site.submit(bench.request("true", hosts=99))
    except (HostError, UsageError) as error:
        if bench.title not in error.message:
            raise
        return
    job = await bench.site.jobs.wait_until(identity, lambda job: bool(job.reason))
    assert job.state is JobState.QUEUED
    assert job.reason


@awaited
async def test_cancel(bench: Any) -> None:
    running = await bench.site.submit(bench.request("sleep", "300", hosts=4))
    await bench.site.jobs.wait_until(running, lambda job: job.state is JobState.RUNNING)
    queued = await bench.site.submit(bench.request("sleep", "300", hosts=4))
    for identity in (queued, running):
        await bench.site.jobs.cancel(identity)
        ended = await bench.site.jobs.wait_until(identity, lambda job: job.state.is_over)
        assert ended.state is JobState.CANCELLED
        await bench.site.jobs.cancel(identity)  # nothing happens


@awaited
async def test_suspend_and_resume(bench: Any) -> None:
    identity = await bench.site.submit(bench.request("sleep", "300"))
    await bench.site.jobs.wait_until(identity, lambda job: job.state is JobState.RUNNING)
    if not bench.can_suspend:
        await refuses_to_suspend(bench, identity)
        return
    await bench.site.suspend(identity)
    await bench.site.jobs.wait_until(identity, lambda job: job.state is JobState.SUSPENDED)
    await bench.site.suspend(identity)
    await bench.site.resume(identity)
    await bench.site.jobs.wait_until(identity, lambda job: job.state is JobState.RUNNING)
    assert not (await bench.site.jobs.fetch_job(identity)).state.is_over


async def refuses_to_suspend(bench: Any, identity: str) -> None:
    """It says so, and what can be done instead, without a question to the scheduler."""
    bench.calls.clear()
    for act in (bench.site.suspend, bench.site.resume):
        with pytest.raises(UsageError, match=f"{bench.title} can neither suspend nor hold jobs") as caught:
            await act(identity)
        assert "steelyard cancel" in caught.value.hint
        assert "wait" in caught.value.hint
    assert not bench.calls
    assert not (await bench.site.jobs.fetch_job(identity)).state.is_over


@awaited
async def test_a_queued_job_can_be_held(bench: Any) -> None:
    first = await bench.site.submit(bench.request("sleep", "300", hosts=4))
    await bench.site.jobs.wait_until(first, lambda job: job.state is JobState.RUNNING)
    second = await bench.site.submit(bench.request("true", hosts=4))
    if not bench.can_suspend:
        await refuses_to_suspend(bench, second)
        return
    await bench.site.suspend(second)
    await bench.site.jobs.cancel(first)
    await bench.site.jobs.wait_until(first, lambda job: job.state.is_over)
    held = await bench.site.jobs.fetch_job(second)
    assert held.state is JobState.QUEUED
    assert "held" in held.sentence
    await bench.site.resume(second)
    assert (await bench.site.jobs.wait_until(second, lambda job: job.state.is_over)).state is JobState.DONE


@awaited
async def test_a_job_that_nobody_knows_is_lost(bench: Any) -> None:
    known = await bench.site.submit(bench.request("true"))
    unknown = "999999" + known[len(known.partition(".")[0]) :]
    found = await bench.site.fetch_jobs([known, unknown])
    assert found[unknown].state is JobState.LOST
    assert found[known].state is not JobState.LOST
    assert "unknown" in found[unknown].sentence
    changes = (bench.site.suspend, bench.site.resume) if bench.can_suspend else ()
    for act in (bench.site.jobs.cancel, *changes):
        with pytest.raises(HostError, match="unknown"):
            await act(unknown)


@awaited
async def test_what_the_scheduler_refuses_is_told_in_its_words(bench: Any) -> None:
    with pytest.raises(HostError, match=f"{bench.title} rejected the job: .*"):
        await bench.site.submit(bench.request("true", **bench.refused))
    with pytest.raises(HostError, match="rejected"):
        await bench.site.submit(bench.request("true", extra_options=("--no-such-option",)))


@awaited
async def test_one_refusal_takes_the_others_along(bench: Any) -> None:
    good = bench.request("sleep", "300", hosts=4)
    with pytest.raises(HostError, match="rejected"):
        await bench.site.submission.submit_all([good, good, dataclasses.replace(good, **bench.refused)])
    assert (len(bench.called(bench.submits)), len(bench.called(bench.cancels))) == (3, 2)


@awaited
async def test_an_operators_word_in_the_options_reaches_the_scheduler(bench: Any) -> None:
    site = bench.new(queue=bench.queue, options=bench.options)
    request = site.make_request("n", ["resume"], hosts=1, output=bench.output, working_directory=bench.place)
    await site.submit(dataclasses.replace(request, argv=("true",), seconds=60))
    assert any(word.endswith(bench.queue) for word in bench.calls[-1])
    assert " ".join(bench.options) in " ".join(bench.calls[-1])


@awaited
async def test_a_scheduler_that_is_down(bench: Any) -> None:
    identity = await bench.site.submit(bench.request("sleep", "300"))
    bench.site.calls.retry_timeout = 0.5
    with bench.down():
        for trying in (bench.site.fetch_jobs([identity]), bench.site.submit(bench.request("true"))):
            with pytest.raises(HostError, match=f"{bench.title} cannot be reached") as caught:
                await trying
            assert "not affected" in caught.value.hint
    assert not (await bench.site.jobs.fetch_job(identity)).state.is_over


@awaited
async def test_a_scheduler_that_comes_back_is_not_noticed(bench: Any) -> None:
    identity = await bench.site.submit(bench.request("sleep", "300"))
    with bench.down():
        asked = asyncio.create_task(bench.site.fetch_jobs([identity]))
        await asyncio.sleep(0.2)
    assert not (await asked)[identity].state.is_over


@pytest.mark.parametrize("how", ["garbage", "crash", "refuses"])
@awaited
async def test_nonsense_is_not_taken_for_an_answer(bench: Any, how: str) -> None:
    identity = await bench.site.submit(bench.request("sleep", "300"))
    with bench.shadowed(bench.tells, how), pytest.raises(HostError) as caught:
        await bench.site.fetch_jobs([identity])
    assert bench.title in str(caught.value)
    with bench.shadowed(bench.submits, how), pytest.raises(HostError):
        await bench.site.submit(bench.request("true"))


@awaited
async def test_a_slow_scheduler_is_given_up(bench: Any) -> None:
    bench.answer_within, bench.site.calls.retry_timeout = 0.3, 0.5
    with bench.shadowed(bench.tells, "slow"), pytest.raises(HostError, match="did not answer in time"):
        await bench.site.fetch_jobs(["1"])
    with bench.shadowed(bench.submits, "slow"), pytest.raises(HostError, match="did not confirm") as caught:
        await bench.site.submit(bench.request("true"))
    assert "may have been queued" in caught.value.hint
    assert len(bench.called(bench.submits)) == 1  # it may be queued: not tried again


@awaited
async def test_a_missing_scheduler(bench: Any) -> None:
    with bench.missing() as lacking, pytest.raises(HostError, match=lacking) as caught:
        await bench.site.fetch_jobs(["1"])
    assert "install" in caught.value.hint


def test_outside_of_a_job(bench: Any) -> None:
    assert bench.site.current_job() is None
    with pytest.raises(HostError, match=f"not in a {bench.title} job"):
        bench.site.allocation.list_hosts()


@awaited
async def test_inside_a_job_its_hosts_are_known(bench: Any) -> None:
    name = type(bench.site).__name__
    code = (
        f"from {type(bench.site).__module__} import {name} as Site\n"
        "import asyncio\n"
        "site = Site(Site.Options())\n"
        "print('inside', site.current_job(), *site.allocation.list_hosts(), site.size())\n"
        "print('left', asyncio.run(site.fetch_seconds_left()), 'end')\n"
    )
    (bench.place / "inside.py").write_text(code)
    request = bench.request(sys.executable, str(bench.place / "inside.py"), hosts=2, seconds=1200)
    identity = await bench.site.submit(request)
    lines = (await bench.said("end")).splitlines()
    job = await bench.site.jobs.wait_until(identity, lambda job: job.state.is_over)
    assert lines[0].split() == ["inside", identity, *job.hosts, str(min(2, bench.hosts))]
    assert float(lines[1].split()[1]) == pytest.approx(1200, abs=61)


@awaited
async def test_an_engine_queues_a_job(bench: Any) -> None:
    if not isinstance(bench.site.scheduler, NamesJobs):
        return
    engine, file = bench.new(time=Duration(600)).engine(), bench.place / "job STAND-IN.sh"
    words = ("sh", "-c", 'echo "$PWD $0" >"$1.new" && mv "$1.new" "$1"', "it's", str(bench.place / "said"))
    submission = engine.submit(EngineJob("engines", "0.0", words, 60.0, 60.0, PurePosixPath(file)))
    assert "USR1" not in str(submission), "a job that is measured is not warned"
    if submission.script:
        file.write_text(submission.script)
        file.chmod(0o700)
    answer = await bench.site.calls.ask(submission.command.argv, stdin=submission.command.stdin)
    pattern, flags = engine.id_pattern
    identity = re.compile(pattern, flags).search(answer.stdout.strip())
    assert identity, answer
    job = await bench.site.jobs.wait_until(identity[1], lambda job: job.state.is_over)
    assert job.state is JobState.DONE, job
    assert (bench.place / "said").read_text() == "/ it's\n"
    assert engine.programs
    assert engine.list_stamps("engines") is None


@awaited
async def test_jobs_are_found_and_cancelled_by_their_name(bench: Any) -> None:
    scheduler = bench.site.scheduler
    if not isinstance(scheduler, NamesJobs):
        with pytest.raises(UsageError, match="does not find its jobs by name"):
            bench.site.engine()
        return
    request = dataclasses.replace(bench.request("sleep", "300"), name="by-name", exclusive=False)
    ids = {await bench.site.submit(request) for _ in range(3)}
    other = await bench.site.submit(dataclasses.replace(request, name="other"))

    async def listed(name: str) -> set[str]:
        answer = await bench.site.calls.ask(scheduler.unfinished_argv(name))
        assert not answer.has_failed, answer
        return set(answer.stdout.split())

    assert await listed("by-name") == ids
    assert not (await bench.site.calls.ask(scheduler.cancel_named_argv("by-name"))).has_failed
    for identity in ids:
        await bench.site.jobs.wait_until(identity, lambda job: job.state.is_over)
    assert await listed("by-name") == set()
    assert await listed("other") == {other}
    assert await listed("nobody") == set()
    await bench.site.jobs.cancel(other)


@pytest.mark.parametrize("text", ["a\nb", "a\r#SBATCH --nodes=9", "\x1b[31m", "nul\0"])
def test_a_script_refuses_what_could_begin_a_line(bench: Any, text: str) -> None:
    for request in (bench.request("echo", text), bench.request("true", environment={"A": text})):
        with pytest.raises(UsageError, match="control character"):
            bench.site.scheduler.make_script(request)
    with pytest.raises(UsageError, match="environment variable"):
        bench.site.scheduler.make_script(bench.request("true", environment={"A;rm -rf x": "1"}))


def test_shorthand(bench: Any) -> None:
    kind = type(bench.site)
    assert kind.parse_shorthand("4") == {"nodes": 4}
    for wrong in ("", "0", "-1", "four", "4x"):
        with pytest.raises(UsageError, match=f"{kind.__name__.lower()}:4"):
            kind.parse_shorthand(wrong)


@awaited
async def test_a_job_is_warned_before_its_limit(bench: Any) -> None:
    limit = bench.warned_of or 60
    script = "trap 'echo warned; exit 0' USR1; echo ready; while :; do sleep 0.1; done"
    ended = asyncio.create_task(bench.run(bench.request("sh", "-c", script, seconds=limit)))
    if bench.warned_of is None:  # Slurm looks at limits every half minute; its operator's hand is quicker
        identity = await _running(bench)
        import os

        await bench.said("ready")
        await benches.call(["scancel", "--batch", "--signal=USR1", identity], env=dict(os.environ))
    await bench.said("warned")
    assert (await ended).state is JobState.DONE


async def _running(bench: Any) -> str:
    while not bench.called(bench.tells):  # noqa: ASYNC110 - calls are but listed
        await asyncio.sleep(0.02)
    return str(bench.calls[-1][-1].partition("=")[2])


@awaited
async def test_a_job_that_outlives_its_limit(bench: Any) -> None:
    if bench.overrun is None:
        pytest.skip("whole minutes: see test_slurm_time_limit")
    ended = await bench.run(bench.request("sh", "-c", "trap '' USR1; sleep 30", seconds=bench.overrun))
    assert ended.state is JobState.TIMED_OUT
    assert "reached its time limit" in ended.sentence
