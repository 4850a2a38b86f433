"""Submits jobs to a batch engine and tells what became of each, in a line of JSON; the last one sums up.

It is fed to the Python of a host that has nothing of Steelyard, with a last line that calls `main` with the
commands of the engine, and how an id is found in an answer. Jobs stamp their start and end themselves, into
files or, where these are not seen from here, into what the engine tells of them; how often we look is in no
figure. The engine is asked what has become of its jobs only when no stamp has come for a while, so that our
questions do not slow it down.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

LOOK_EVERY = 0.02  # seconds between two looks at the stamps
TOLD_EVERY = 0.5  # seconds between two questions for stamps, at least
TOLD_SHARE = 10.0  # and so many times what such a question takes
ASK_AFTER = 5.0  # seconds without a stamp until the engine is asked
SHOWN_WITHIN = 40.0  # seconds until a file server shows a stamp
GRACE = 90.0  # seconds beyond its limit in which an engine has ended a job
EMPTY_WITHIN = 60.0  # seconds in which the engine's list is empty when all jobs are over
CALL_WITHIN = 300.0  # seconds for a command of the engine
MOST_SAID = 300
UNSEEN = "was ended without having started our script: do the engine's hosts see `directory`?"


class EngineCommands:
    """Runs the commands of the engine that `asked` describes."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        dropped, kept = asked["variables"]
        mine = {k: v for k, v in os.environ.items() if k in kept or not k.startswith(tuple(dropped))}
        self.environment = {**mine, "LC_ALL": "C"}
        pattern, flags = asked["id"]
        self.id = re.compile(pattern, flags)

    def call(self, words: list[str], text: str = "") -> tuple[int, str, str]:
        """Exit code, output and errors."""
        try:
            done = subprocess.run(
                words, input=text, capture_output=True, env=self.environment, text=True, errors="replace",
                timeout=CALL_WITHIN, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return 124, "", f"it did not answer within {CALL_WITHIN:g} s"
        except OSError as error:
            return 127, "", f"cannot start {words[0]}: {error.strerror}"
        return done.returncode, done.stdout, done.stderr

    def submit(self, key: str) -> dict[str, Any]:
        """Submit a job whose stamps have this name."""
        words = [self.fill(word, key) for word in self.asked["submit"]]
        text = self.fill(self.asked["input"], key)
        began = time.time()
        if self.asked["script"]:  # writing it is part of what a submission takes
            write_program(self.fill(self.asked["file"], key), self.fill(self.asked["script"], key))
        code, said, wrong = self.call(words, text)
        told = {"job": key, "submitted": began, "confirmed": time.time()}
        match = self.id.search(said.strip())
        if code or not match:
            return {**told, "failure": "refused: " + shorten(wrong or said or f"exit code {code}")}
        return {**told, "id": match[1]}

    def fill(self, text: str, key: str) -> str:
        """A text with the name of a job's stamps in place of its stand-in."""
        return text.replace(str(self.asked["key"]), key)

    def describe(self, identity: str) -> tuple[int, str, str]:
        """What the engine says of a job."""
        return self.call([word.replace(self.asked["job_id"], identity) for word in self.asked["describe"]])

    def cancel(self, identity: str) -> None:
        """End a job."""
        self.call([word.replace(self.asked["job_id"], identity) for word in self.asked["cancel"]])

    def list_unfinished(self) -> set[str] | None:
        """The ids that it has of ours; None where it does not tell."""
        code, said, _ = self.call(self.asked["list"])
        return None if code else set(said.split())

    def list_stamps(self) -> list[dict[str, str]]:
        """How jobs stand whose stamps the engine tells; nothing where it does not answer."""
        code, said, _ = self.call(self.asked["stamps"])
        return [] if code else [json.loads(line) for line in said.splitlines()]

    def empty(self) -> set[str]:
        """Wait until it has none of ours, and end those that stay; those that are left."""
        deadline, pause, cancelled = time.monotonic() + EMPTY_WITHIN, 0.05, False
        while True:
            left = self.list_unfinished()
            if left == set() or time.monotonic() > deadline:
                return left or set()
            if not cancelled and pause > 0.3:
                self.call(self.asked["cancel_all"])
                cancelled = True
            time.sleep(pause)
            pause = min(2 * pause, 2.0)


class OpenJobs:
    """The jobs that are under way, by the name of their stamps."""

    def __init__(self, engine: EngineCommands) -> None:
        self.engine, self.asked = engine, engine.asked
        self.pool = ThreadPoolExecutor(max_workers=self.asked["at_once"])
        self.submitting: dict[Future[dict[str, Any]], str] = {}
        self.open: dict[str, dict[str, Any]] = {}
        self.started: set[str] = set()
        self.why: dict[str, str] = {}  # what the engine says of those that wait
        self.look_at = 0.0
        self.gone: dict[str, float] = {}  # since when the engine has them no more
        self.news = time.monotonic()
        self.failed, self.first_failure = 0, ""

    def submit(self, number: int, attempt: int) -> None:
        """Submit one, as soon as fewer than `at_once` are being submitted."""
        key = f"{number}.{attempt}"
        self.submitting[self.pool.submit(self.engine.submit, key)] = key

    def run(self) -> None:
        """All of them, to their end."""
        for number in range(self.asked["jobs"]):
            self.submit(number, 0)
        while self.submitting or self.open:
            self.take_submitted()
            self.take_stamps()
            self.judge_times()
            if self.open and time.monotonic() - self.news > ASK_AFTER:
                self.ask()
            time.sleep(LOOK_EVERY)

    def take_submitted(self) -> None:
        """Those whose submit command has ended."""
        for done in [each for each in self.submitting if each.done()]:
            key = self.submitting.pop(done)
            self.news = time.monotonic()
            told = done.result()
            if "failure" in told:
                self.end(told)
            else:
                self.open[key] = told

    def take_stamps(self) -> None:
        """Those that have started or ended, by their files or as the engine tells."""
        began = time.monotonic()
        if began < self.look_at or not self.open:
            return
        begun, over = self.find_told() if self.asked["stamps"] else self.find_files()
        if self.asked["stamps"]:
            took = time.monotonic() - began
            self.look_at = began + took + max(TOLD_EVERY, TOLD_SHARE * took)
        if over or begun - self.started:
            self.started |= begun
            self.news = time.monotonic()
        for key, facts in over.items():
            self.end({**self.open.pop(key), **facts})

    def find_files(self) -> tuple[set[str], dict[str, dict[str, Any]]]:
        """Which of the open ones have left a stamp of their start, and what those say that are over."""
        names = {entry.name for entry in os.scandir("stamps")}
        begun = {key for key in self.open if key + ".began" in names}
        return begun, {key: read_file(key) for key in self.open if key in names}

    def find_told(self) -> tuple[set[str], dict[str, dict[str, Any]]]:
        """The same, as the engine tells."""
        told = {each["job"]: each for each in self.engine.list_stamps() if each["job"] in self.open}
        ended = {key: each for key, each in told.items() if each["stands"] == "over"}
        over = {key: read_told(each, self.why.get(key, "")) for key, each in ended.items()}
        self.why.update((key, each["why"]) for key, each in told.items())
        return {key for key, each in told.items() if each["stands"] != "waits"}, over

    def judge_times(self) -> None:
        """Give up those that do not start, and those that no limit ends."""
        now = time.time()
        for key in list(self.open):
            since = now - self.open[key]["confirmed"]
            if key not in self.started and since > self.asked["start_within"]:
                why = f" ({self.why[key]})" if self.why.get(key) else ""
                self.give_up(key, f"did not start within {self.asked['start_within']:g} s{why}")
            elif since > self.asked["start_within"] + self.asked["limit"] + GRACE:
                self.give_up(key, f"was not ended at its limit of {self.asked['limit']:g} s")

    def ask(self) -> None:
        """Give up those that the engine has no more, and that left no stamp of their end."""
        there = self.engine.list_unfinished()
        self.news = time.monotonic()
        if there is None:
            return
        missing = [key for key, told in self.open.items() if told["id"] not in there]
        self.gone = {key: self.gone.get(key, self.news) for key in missing}
        for key in [key for key, since in self.gone.items() if self.news - since > SHOWN_WITHIN]:
            self.give_up(key, "was ended by the engine" if key in self.started else UNSEEN)

    def give_up(self, key: str, failure: str) -> None:
        """End one, with what the engine says of it."""
        told = self.open.pop(key)
        _, said, _ = self.engine.describe(told["id"])
        self.engine.cancel(told["id"])
        self.end({**told, "failure": failure, "said": said[:4000]})

    def end(self, told: dict[str, Any]) -> None:
        """Tell of one that is over, and submit it again where it failed and may."""
        say(told)
        number, attempt = map(int, told["job"].split("."))
        if "failure" not in told:
            return
        said = shorten(told.get("said", ""))
        self.first_failure = self.first_failure or told["failure"] + (f" ({said})" if said else "")
        if attempt < self.asked["retries"]:
            self.submit(number, attempt + 1)
        else:
            self.failed += 1


def write_program(path: str, text: str) -> None:
    """A file that may be started."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o700), "w") as file:
        file.write(text)


def read_file(key: str) -> dict[str, Any]:
    """What a job has said of itself."""
    with open(f"stamps/{key}", errors="replace") as file:
        return read_stamps(file.read().splitlines())


def read_told(told: dict[str, str], before: str) -> dict[str, Any]:
    """What the engine tells of a job that is over; one that it ended may have had no time for all stamps.

    `before` is what kept it waiting.
    """
    why = ": ".join(filter(None, ("was ended by the engine", told["why"], before)))
    try:
        facts = read_stamps(told["stamps"].split(";"))
    except LookupError:
        return {"failure": why}
    return {**facts, "failure": why} if told["why"] else facts


def read_stamps(lines: list[str]) -> dict[str, Any]:
    """The facts in a job's stamps. Raises LookupError where some are missing."""
    words = [line.split() for line in lines if line.strip()]
    told = {each[0]: each[1:] for each in words if each[0] != "process"}
    processes = [each[1:] for each in words if each[0] == "process"]
    code = told["ended"][1]
    facts = {"began": told["began"][0], "ended": told["ended"][0], "host": told["host"][0]}
    failure = {} if code == "0" else {"failure": f"ended with code {code}"}
    return {**facts, "processes": processes, **failure}


def ask_for_status(jobs: OpenJobs) -> None:
    """Submit a job, wait until all of it runs, submit the others, and ask for the first, time and again."""
    asked = jobs.asked
    jobs.submit(0, 0)
    while not all_run(jobs, "0.0"):
        jobs.take_submitted()
        jobs.take_stamps()
        jobs.judge_times()
        if "0.0" not in jobs.open and not jobs.submitting:
            sys.exit(f"the job that was to be asked for {jobs.first_failure or 'ended at once'}")
        time.sleep(LOOK_EVERY)
    for number in range(1, asked["jobs"]):
        jobs.submit(number, 0)
    while jobs.submitting:
        jobs.take_submitted()
        time.sleep(LOOK_EVERY)
    identity = jobs.open["0.0"]["id"]
    for _ in range(asked["queries"]):
        began = time.monotonic()
        code, said, wrong = jobs.engine.describe(identity)
        seconds = time.monotonic() - began
        if code:
            sys.exit(f"the engine does not tell how job {identity} stands: {shorten(wrong or said)}")
        say({"query": seconds})
    if is_over(jobs, "0.0"):
        sys.exit(f"job {identity} ended before it had been asked for {asked['queries']} times: raise `limit`")
    say({"id": identity, "said": said[:4000]})
    os.remove("hold")


def all_run(jobs: OpenJobs, key: str) -> bool:
    """Whether all processes of a job have stamped their start; where the engine tells, whether it runs."""
    if jobs.asked["stamps"]:
        return key in jobs.started
    files = (f"stamps/{key}.{number}" for number in range(jobs.asked["processes"]))
    return all(os.path.exists(file) and os.path.getsize(file) for file in files)


def is_over(jobs: OpenJobs, key: str) -> bool:
    """Whether a job that is open has ended meanwhile."""
    _, over = jobs.find_told() if jobs.asked["stamps"] else jobs.find_files()
    return key in over


def measure_stamp() -> float:
    """Seconds that a stamp takes: the median of some."""
    spans = []
    for _ in range(5):
        began = time.monotonic()
        subprocess.run(["date", "+%s.%N"], stdout=subprocess.DEVNULL, check=True)
        spans.append(time.monotonic() - began)
    return sorted(spans)[2]


def shorten(text: str) -> str:
    """One line, and not too long."""
    return " ".join(text.split())[:MOST_SAID]


def say(told: dict[str, Any]) -> None:
    """A line of output."""
    print(json.dumps(told), flush=True)


def main(text: str) -> None:
    """Do what this JSON asks for."""
    asked = json.loads(text)
    shutil.rmtree("stamps", ignore_errors=True)
    os.mkdir("stamps", 0o700)
    for name, content in (("job.sh", asked["job"]), ("hold", "")):
        with open(name, "w") as file:
            file.write(content)
    stamp = measure_stamp()
    jobs = OpenJobs(EngineCommands(asked))
    jobs.run() if asked["do"] == "run" else ask_for_status(jobs)
    left = jobs.engine.empty()
    if asked["do"] == "run" and jobs.failed == asked["jobs"]:
        sys.exit(f"all {asked['jobs']} jobs failed; the first: {jobs.first_failure}")
    say({"over": True, "stamp": stamp, "left": sorted(left)})
