"""What the stand-ins for LSF and PBS share: a queue in a directory, four hosts, and jobs that really run.

Not part of Steelyard: executables of the tests, standard library only. Environment:
FAKE_DIR   where the state lies
FAKE_MODE  empty, or down (the server does not answer), garbage, crash, slow (answers after FAKE_SLOW seconds)
FAKE_SPEED how many seconds of a time limit pass in a real second
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

HOSTS = ("h1", "h2", "h3", "h4")
Job = dict[str, Any]


class Usage(Exception):
    """The command line is not one that the real program takes."""


class Queue:
    """The state, locked while it is looked at or changed."""

    def __init__(self) -> None:
        self.directory = Path(os.environ["FAKE_DIR"])
        self.directory.mkdir(parents=True, exist_ok=True)
        self.speed = float(os.environ.get("FAKE_SPEED", "1"))

    @contextlib.contextmanager
    def changing(self) -> Iterator[dict[str, Job]]:
        """All jobs by number; what is changed is kept."""
        with (self.directory / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            file = self.directory / "jobs.json"
            jobs: dict[str, Job] = json.loads(file.read_text()) if file.exists() else {}
            yield jobs
            (self.directory / "new.json").write_text(json.dumps(jobs))
            (self.directory / "new.json").replace(file)

    def jobs(self) -> dict[str, Job]:
        """A copy to be looked at."""
        with self.changing() as jobs:
            return jobs

    def submit(self, job: Job, script: str) -> str:
        """Queue a job and start what will run it; its number."""
        with self.changing() as jobs:
            number = str(max(map(int, jobs), default=100) + 1)
            (self.directory / f"{number}.sh").write_text(script)
            jobs[number] = {"state": "queued", "hosts": [], "started": None, "code": None, "why": "", **job}
        runner = subprocess.Popen(
            [sys.executable, "-S", __file__, number], cwd="/", start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.note(number, runner=runner.pid)
        return number

    def note(self, number: str, **facts: Any) -> None:
        """Change some facts of a job."""
        with self.changing() as jobs:
            jobs[number] |= facts

    def end(self, number: str, why: str) -> None:
        """End a job that is not over."""
        with self.changing() as jobs:
            job = jobs[number]
            job["why"] = why
            if job["state"] == "queued":
                job["state"] = "over"
        if job.get("group"):
            _signal(job["group"], signal.SIGCONT)
            _signal(job["group"], signal.SIGTERM)

    def stop(self, number: str, by: int = signal.SIGSTOP) -> None:
        """Suspend what runs by this signal, hold what is queued."""
        with self.changing() as jobs:
            job = jobs[number]
            if job["state"] == "running":
                job["state"] = "suspended"
                _signal(job["group"], by)
            elif job["state"] == "queued":
                job["state"] = "held"

    def go_on(self, number: str) -> None:
        """The opposite."""
        with self.changing() as jobs:
            job = jobs[number]
            if job["state"] == "suspended":
                job["state"] = "running"
                _signal(job["group"], signal.SIGCONT)
            elif job["state"] == "held":
                job["state"] = "queued"

    # The runner of one job ---------------------------------------------------------------------------------

    def run(self, number: str) -> None:
        """Wait for hosts, run the script to its end or its limit, note how it ended."""
        while (job := self._allocate(number)) is None:
            time.sleep(0.02)
        if job["state"] == "over":
            return
        with Path(job["output"]).open("ab") as output:
            process = subprocess.Popen(
                [*job["shell"], str(self.directory / f"{number}.sh")], env=self._environment(number, job),
                cwd=job["directory"], start_new_session=True, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output,
            )  # fmt: skip
        self.note(number, group=process.pid)
        why = self._wait(process, job)
        with self.changing() as jobs:
            jobs[number] |= {"state": "over", "code": process.wait(), "ended": time.time()}
            jobs[number]["why"] = jobs[number]["why"] or why
        _signal(process.pid, signal.SIGKILL)

    def _allocate(self, number: str) -> Job | None:
        with self.changing() as jobs:
            job = jobs[number]
            taken = {
                host
                for each in jobs.values()
                if each["state"] in ("running", "suspended")
                for host in each["hosts"]
            }
            free = [host for host in HOSTS if host not in taken]
            if job["state"] == "queued" and len(free) >= job["wanted"]:
                job |= {"state": "running", "hosts": free[: job["wanted"]], "started": time.time()}
            return None if job["state"] in ("queued", "held") else job

    def _environment(self, number: str, job: Job) -> dict[str, str]:
        file = self.directory / f"{number}.hosts"
        file.write_text("".join(f"{host}\n" for host in job["hosts"]))
        values = {"FILE": str(file), "NUMBER": number, "MCPU": " ".join(f"{host} 1" for host in job["hosts"])}
        return {**os.environ, **{name: text.format(**values) for name, text in job["variables"].items()}}

    def _wait(self, process: subprocess.Popen[bytes], job: Job) -> str:
        limit = job["limit"] / self.speed
        warned = job["warn"] is None
        began = time.monotonic()
        while process.poll() is None:
            passed = time.monotonic() - began
            if not warned and passed > limit - job["warn"] / self.speed:
                warned = True
                os.kill(process.pid, job["signal"])
            if passed > limit:
                _signal(process.pid, job.get("at_limit", signal.SIGTERM))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(1)
                _signal(process.pid, signal.SIGKILL)
                return "limit"
            time.sleep(0.01)
        return ""


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def options(
    words: list[str], plain: str, valued: str, named: tuple[str, ...] = ()
) -> tuple[dict[str, list[str]], list[str]]:
    """Single-dash options and the rest. Raises Usage for what is not among them."""
    found: dict[str, list[str]] = {}
    rest = list(words)
    while rest and rest[0].startswith("-"):
        name = rest.pop(0).lstrip("-")
        if name in valued.split() or name in named:
            if not rest:
                raise Usage(f"option requires an argument -- {name}")
            found.setdefault(name, []).append(rest.pop(0))
        elif name in plain.split():
            found.setdefault(name, []).append("")
        else:
            raise Usage(f"illegal option -- {name}")
    return found, rest


def fail(text: str, code: int) -> NoReturn:
    """Say this on standard error and end so."""
    print(text, file=sys.stderr)
    sys.exit(code)


def misbehave(down: str) -> None:
    """Do what FAKE_MODE says in place of an answer; `down` is what is said when the server is down."""
    mode = os.environ.get("FAKE_MODE", "")
    if mode == "slow":
        time.sleep(float(os.environ.get("FAKE_SLOW", "30")))
    elif mode == "down":
        fail(down, 255)
    elif mode == "garbage":
        sys.stdout.write("".join(random.Random(1).choices('{}[]"|<>abc\n', k=300)))
        sys.exit(0)
    elif mode == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)


if __name__ == "__main__":
    Queue().run(sys.argv[1])
