"""What Steelyard adds to Slurm: to 100 submissions, to asking for 100 jobs, and to a job before its program.

The jobs that are only submitted are held, so that none of them runs and takes the cores from the next ones.
"""

from __future__ import annotations

import asyncio
import dataclasses
import shlex
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.process import EVIDENCE, NotMeasured, in_turns, run
from bench.row import Row
from bench.setting import Setting, steelyard
from bench.slurm_cluster import running
from steelyard.errors import SteelyardError
from steelyard.hosts.call import Answer, call
from steelyard.sites.kit.batch.job import JobState
from steelyard.sites.kit.batch.options import BatchOptions
from steelyard.sites.slurm import Slurm

JOBS = 100
MOST_OF_LOOP = 1.1
MOST_CALLS = 1
MOST_OF_BARE = 8.0  # times until the program begins
PROGRAM = ("date", "+%s%N")  # says when it began


def rows(setting: Setting) -> Iterator[Row]:
    """All with one cluster of our own."""
    with running(setting.place / "cluster"):
        try:
            submitting = Submitting(setting, 10 if setting.quick else JOBS)
            yield from submitting.rows()
            yield _added(setting)
        except SteelyardError as error:
            raise NotMeasured(str(error)) from error


class Submitting:
    """Submissions of held jobs, through our site and by a loop of the shell with the same command."""

    def __init__(self, setting: Setting, count: int) -> None:
        self._setting, self._count, self._calls = setting, count, 0
        self._site = Slurm(BatchOptions(options=("--hold",)))
        self._site.calls.caller = self._counted
        folder = setting.folder("jobs")
        asked = self._site.make_request(
            "held", [], hosts=1, output=folder / "output", working_directory=folder
        )
        self._request = dataclasses.replace(asked, argv=("true",))
        self._script, self._loop = folder / "script", folder / "loop"
        self._script.write_text(self._site.scheduler.make_script(self._request))
        self._loop.write_text(self._shell())

    def rows(self) -> Iterator[Row]:
        """Submitting them, and asking for all of them.

        The limit holds for `submit_all`, which is how several jobs are submitted: a few calls are under way
        at once. One by one, each waiting for the one before, is there to show what a single call costs.
        """
        sides = {"ours": self._one_by_one, "at once": self._at_once, "loop": self._bare_loop}
        found, loop = in_turns(self._setting.turns, sides), "a loop of sbatch"
        what = f"{self._count} jobs submitted"
        yield Row("jobs", what, "s", found["at once"], loop, found["loop"], most=MOST_OF_LOOP)
        yield Row("jobs", f"{what}, one by one", "s", found["ours"], loop, found["loop"])
        yield from self._status()

    def _status(self) -> Iterator[Row]:
        ids = asyncio.run(self._site.submission.submit_all([self._request] * self._count))
        self._calls = 0
        argv = self._site.scheduler.status_argv(ids)
        sides = {"ours": lambda: self._asked(ids), "bare": lambda: run(argv).seconds}
        found = in_turns(self._setting.turns, sides)
        self._forget(ids)
        calls, what = self._calls / self._setting.turns, f"status of {self._count} jobs"
        yield Row("jobs", f"{what}: calls of the scheduler", "1", (calls,), limit=MOST_CALLS)
        yield Row("jobs", what, "s", found["ours"], "squeue with the same words", found["bare"])

    def _one_by_one(self) -> float:
        async def submitted() -> list[str]:
            return [await self._site.submit(self._request) for _ in range(self._count)]

        began = time.perf_counter()
        ids = asyncio.run(submitted())
        return self._forgotten(ids, time.perf_counter() - began)

    def _at_once(self) -> float:
        began = time.perf_counter()
        ids = asyncio.run(self._site.submission.submit_all([self._request] * self._count))
        return self._forgotten(ids, time.perf_counter() - began)

    def _bare_loop(self) -> float:
        done = run(("sh", str(self._loop)))
        return self._forgotten(done.output.split(), done.seconds)

    def _shell(self) -> str:
        words = shlex.join(self._site.scheduler.submit_argv(self._request))
        submit = f"{words} <{shlex.quote(str(self._script))} || exit"
        return f"n=0\nwhile [ $n -lt {self._count} ]; do\n{submit}\nn=$((n + 1))\ndone\n"

    def _asked(self, ids: Sequence[str]) -> float:
        began = time.perf_counter()
        found = asyncio.run(self._site.fetch_jobs(ids))
        seconds = time.perf_counter() - began
        if any(job.state is not JobState.QUEUED for job in found.values()):
            raise NotMeasured("a job that was held is not in the queue")
        return seconds

    async def _counted(self, argv: Sequence[str], **options: object) -> Answer:
        self._calls += 1
        return await call(argv, **options)  # type: ignore[arg-type]

    def _forgotten(self, ids: Sequence[str], seconds: float) -> float:
        self._forget(ids)
        if len(ids) != self._count:
            raise NotMeasured(f"{len(ids)} jobs were queued, not {self._count}")
        return seconds

    def _forget(self, ids: Sequence[str]) -> None:
        run(("scancel", *ids))


def _added(setting: Setting) -> Row:
    """From the first line of a job to the start of its program: ours beside a bare job that uses srun."""
    setting.place.joinpath("sites.yaml").write_text(_site(setting))
    found = in_turns(setting.turns, {"ours": lambda: ours(setting), "bare": lambda: bare(setting)})
    return Row(
        "jobs",
        "from a Slurm job's first line to its program",
        "s",
        found["ours"],
        "the same of a bare job, by srun",
        found["bare"],
        most=MOST_OF_BARE,
    )


def _site(setting: Setting) -> str:
    """A site whose jobs note first when they began."""
    note = f"date +%s%N >{shlex.quote(str(setting.place / 'began'))}"
    return f"bench: {{use: slurm, nodes: 1, shell: /bin/sh, setup: ['{note}']}}\n"


def ours(setting: Setting) -> float:
    """Seconds from the job's beginning to its first trial's program."""
    store = setting.fresh("job")
    counted = ("--repeat", "1", "--disturbed", "include")
    words = ("run", "-q", "--site", "bench", "--store", str(store), *counted, "--", *PROGRAM)
    run(steelyard(*words), cwd=setting.place, env=setting.environment)
    (printed,) = store.glob("runs/*/trials/*/*/*/stdout")
    return _between(setting.place / "began", printed, printed.with_name("stderr"))


def bare(setting: Setting) -> float:
    """The same of a job without us."""
    folder = setting.fresh("bare")
    script = folder / "script"
    script.write_text(f"#!/bin/sh\ndate +%s%N >began\nsrun {shlex.join(PROGRAM)} >program || true\n")
    words = ("--wait", "--nodes=1", "--exclusive", f"--output={folder}/output", f"--chdir={folder}")
    run(("sbatch", *words, str(script)), cwd=folder)
    return _between(folder / "began", folder / "program", folder / "output")


def _between(first: Path, then: Path, complaint: Path) -> float:
    """Seconds between two printed instants. Raises NotMeasured with what stands in the file `complaint`.

    No exit code is asked: srun ends with 0 also when its program was never started.
    """
    instants = [path.read_text().strip() if path.exists() else "" for path in (first, then)]
    if not all(instant.isdecimal() for instant in instants):
        said = complaint.read_text(errors="replace").strip() if complaint.exists() else ""
        raise NotMeasured(
            f"a job's {PROGRAM[0]} printed no time: {said[-EVIDENCE:] or 'nothing is said why'}"
        )
    return (int(instants[1]) - int(instants[0])) / 1e9
