"""Runs cases: in a process that can be killed, each in a directory of its own."""

import contextlib
import json
import os
import select
import shutil
import signal
import stat
import time
from typing import Any

from steelyard.workloads.posix.program.harness import (
    UNSUPPORTED,
    Actor,
    Mismatch,
    NotApplicable,
    PosixCase,
    Unsupported,
    become_user,
    name_errors,
)

GIVE_UP = 5  # cases in a row that time out: the file system hangs, and so would each case after them


class Worker:
    """A process that runs cases one after the other, until one of them does not pass.

    It has a process group of its own, which ends with it, and writes a line for each case.
    """

    def __init__(self, cases: "list[PosixCase]", who: Actor, folder: str) -> None:
        reading, writing = os.pipe()
        self.process = os.fork()
        if not self.process:
            os.close(reading)
            work_and_end(cases, who, folder, writing)
        os.close(writing)
        self._pipe = os.fdopen(reading, "rb", 0)
        self._text = b""

    def read_answer(self, seconds: float) -> "dict[str, Any] | None":
        """The next case's answer; None if the process ended without. Raises TimeoutError."""
        end = time.monotonic() + seconds
        while b"\n" not in self._text:
            if not select.select([self._pipe], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(seconds)
            piece = self._pipe.read(65536)
            if not piece:
                return None
            self._text += piece
        line, _, self._text = self._text.partition(b"\n")
        return dict(json.loads(line.decode()))

    def stop(self) -> "int | None":
        """Kill it and what it started; its status, or None where the file system keeps it from ending."""
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(self.process, signal.SIGKILL)
        self._pipe.close()
        end = time.monotonic() + 2
        while time.monotonic() < end:
            ended, status = os.waitpid(self.process, os.WNOHANG)
            if ended:
                return status
            time.sleep(0.001)
        return None


def work_and_end(cases: "list[PosixCase]", who: Actor, folder: str, writing: int) -> None:
    """In the worker: go to the folder, become the user, and run the cases until one does not pass."""
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        home = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
        if os.geteuid() == 0 and not who.is_root:
            become_user(who.uid, who.gid, (who.extra_gid,))
        for number, case in enumerate(cases):
            answer = run_in_folder(case, who, "case{}".format(number), home, max(home, writing))
            os.write(writing, json.dumps(answer).encode() + b"\n")
            if answer["outcome"] in ("failed", "timed_out"):
                break  # it may have left processes behind
    finally:
        os._exit(0)


def run_in_folder(case: PosixCase, who: Actor, name: str, home: int, last: int) -> "dict[str, Any]":
    """Run a case in a new directory and remove that; descriptors after the `last` one are the case's."""
    answer: "dict[str, Any]" = {"outcome": "passed"}
    try:
        os.umask(0o022)
        os.mkdir(name)
        os.chdir(name)
        answer = judge(case, who)
        os.closerange(last + 1, last + 1000)
        os.fchdir(home)
        remove_folder(name)
    except OSError as error:
        if answer["outcome"] == "passed":
            shown = name_errors(error.errno or 0)
            return {
                "outcome": "failed",
                "expected": "a directory for the case, and its removal",
                "got": shown,
            }
    return answer


def judge(case: PosixCase, who: Actor) -> "dict[str, Any]":
    """How a case ends, run in this process."""
    try:
        case.body(who)
    except (Unsupported, NotApplicable) as error:
        outcome = "unsupported" if isinstance(error, Unsupported) else "not_applicable"
        return {"outcome": outcome, "got": str(error)}
    except Exception as error:  # a case must not end the program
        code, expected, got = describe_error(error)
        if case.optional and code in UNSUPPORTED:
            return {"outcome": "unsupported", "got": got}
        return {"outcome": "failed", "expected": expected, "got": got}
    return {"outcome": "passed"}


def describe_error(error: Exception) -> "tuple[int, str, str]":
    """The error number, what was expected, and what came instead."""
    if isinstance(error, Mismatch):
        return error.code, "{}: {}".format(error.what, error.expected), error.got
    if isinstance(error, OSError):
        code = error.errno or 0
        return code, "success", "{}: {}".format(name_errors(code), str(error.filename or "")[:60])
    return 0, "success", repr(error)[:200]


def remove_folder(folder: str) -> None:
    """Remove a tree, also directories that their owner may not enter."""
    try:
        shutil.rmtree(folder)
    except PermissionError:
        for parent, names, _ in os.walk(folder):
            for name in names:
                path = os.path.join(parent, name)
                if not os.path.islink(path):
                    os.chmod(path, stat.S_IRWXU)
        shutil.rmtree(folder)


def run_cases(cases: "list[PosixCase]", who: Actor, seconds: float) -> "list[dict[str, Any]]":
    """How each case ends; a new worker goes on after one that did not pass."""
    answers: "list[dict[str, Any]]" = []
    hanging = 0
    while len(answers) < len(cases) and hanging < GIVE_UP:
        folder = make_folder(who, len(answers))
        batch = run_batch(cases[len(answers) :], who, folder, seconds)
        before = hanging if len(batch) == 1 else 0
        hanging = before + 1 if batch[-1]["outcome"] == "timed_out" else 0
        answers += batch
        clean_up(folder, seconds)
    left = len(cases) - len(answers)
    return (
        answers
        + [{"outcome": "timed_out", "expected": "an end", "got": "not tried: cases before hung"}] * left
    )


def make_folder(who: Actor, number: int) -> str:
    """A new directory of the identity."""
    folder = "as{}-{}".format(who.uid, number)
    os.mkdir(folder, 0o755)
    os.chmod(folder, 0o755)
    if os.geteuid() == 0 and not who.is_root:
        os.chown(folder, who.uid, who.gid)
    return folder


def run_batch(cases: "list[PosixCase]", who: Actor, folder: str, seconds: float) -> "list[dict[str, Any]]":
    """Answers up to the first case that did not pass, with that one."""
    worker = Worker(cases, who, folder)
    answers: "list[dict[str, Any]]" = []
    try:
        while len(answers) < len(cases):
            answer = worker.read_answer(seconds)
            if answer is None:
                break
            answers.append(answer)
    except TimeoutError:
        worker.stop()
        shown = "none in {:g} s".format(seconds)
        return [*answers, {"outcome": "timed_out", "expected": "an end", "got": shown}]
    status = worker.stop()
    if len(answers) < len(cases) and (not answers or answers[-1]["outcome"] not in ("failed", "timed_out")):
        shown = "the process ended with status {}".format(status)
        answers.append({"outcome": "failed", "expected": "an answer", "got": shown})
    return answers


def clean_up(folder: str, seconds: float) -> None:
    """Remove what cases left, in a process that can be given up."""
    child = os.fork()
    if not child:
        try:
            remove_folder(folder)
        finally:
            os._exit(0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
