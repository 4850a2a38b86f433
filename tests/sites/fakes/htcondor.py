"""Stand-ins for HTCondor's commands, told apart by the name they are called by.

They take the options, and print in the form, of HTCondor 23.9.6: tests/data/batch has what a real pool
printed. The pool has one host, of four cores; a job that asks for all of them waits for the others.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from condor_arguments import parse_arguments
from scheduler import Queue, Usage, fail, misbehave

FULL = "h1.cluster.example"
DOWN = "Error: Can't find address for schedd condor1\n\nExtra Info: You probably saw this error because"
STATES = {"queued": 1, "running": 2, "held": 5, "suspended": 7}
ALL = "TARGET.TotalCpus"
COMMANDS = {
    "universe", "batch_name", "executable", "transfer_executable", "arguments", "initialdir", "environment",
    "getenv", "should_transfer_files", "notification", "allowed_job_duration", "periodic_remove",
    "request_cpus", "request_memory", "accounting_group", "requirements",
}  # fmt: skip


def submit(queue: Queue, words: list[str]) -> None:
    """`condor_submit -terse [-append line] -`"""
    more = []
    while words and words[0] != "-":
        word = words.pop(0)
        if word == "-append":
            more.append(words.pop(0))
        elif word != "-terse":
            raise Usage("Usage: condor_submit [options] [<attrib>=<value>] [- | <submit-file>]")
    lines = sys.stdin.read().splitlines()
    if lines.pop() != "queue":
        raise Usage("ERROR: on Line 0 of submit file: no queue statement")
    commands = dict(line.split(" = ", 1) for line in [*lines, *more])
    if strange := set(commands) - COMMANDS:
        raise Usage(f"this stand-in does not know {strange}")
    if not re.fullmatch(r"[\w.]*", commands.get("accounting_group", "")):
        fail(f"\nERROR: Invalid accounting_group: {commands['accounting_group']}", 1)
    number = queue.submit(
        {
            "wanted": 4 if commands["request_cpus"] == ALL else int(commands["request_cpus"]),
            "limit": float(commands["allowed_job_duration"]), "warn": None, "output": "/dev/null",
            "directory": commands["initialdir"].replace("$(DOLLAR)", "$"), "shell": ["/bin/sh"],
            "name": commands["batch_name"],
            "variables": {"STEELYARD_HTCONDOR_JOB": "{NUMBER}.0", "_CONDOR_MACHINE_AD": machine_ad(queue)},
        },
        f"exec {commands['executable']} {shlex.join(parse_arguments(commands['arguments']))}\n",
    )  # fmt: skip
    print(f"{number}.0 - {number}.0")


def machine_ad(queue: Queue) -> str:
    """What a host says of itself."""
    path = queue.directory / "machine.ad"
    path.write_text(f'Cpus = 4\nMachine = "{FULL}"\nName = "slot1_1@{FULL}"\n')
    return str(path)


def describe(number: str, job: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a job, as far as it has them."""
    facts = {
        "AllowedJobDuration": int(job["limit"]), "ClusterId": int(number), "ExitBySignal": False,
        "NumJobStarts": int(job["state"] == "over" and bool(job["started"])), "ProcId": 0,
    }  # fmt: skip
    if job["started"]:
        over = job["state"] == "over"
        facts["JobCurrentStartDate"] = int(job["started"])
        facts["LastRemoteHost" if over else "RemoteHost"] = f"slot1_1@{FULL}"
    if job["state"] == "held":
        facts |= {"HoldReason": "via condor_hold (by user alice)", "HoldReasonCode": 1}
    if job["state"] != "over":
        return facts | {"JobStatus": STATES[job["state"]]}
    if job["why"] == "limit":
        why = "The job attribute PeriodicRemove expression '...' evaluated to TRUE"
        return facts | {"JobStatus": 3, "RemoveReason": why, "LastHoldReasonCode": 46}
    if job["why"]:
        return facts | {"JobStatus": 3, "RemoveReason": "via condor_rm (by user alice)"}
    code = job["code"]
    end = {"ExitBySignal": True, "ExitSignal": -code} if code < 0 else {"ExitCode": code}
    return facts | {"JobStatus": 4, "CompletionDate": int(time.time())} | end


def show(queue: Queue, words: list[str], *, over: bool) -> None:
    """`condor_q -json -attributes A,B id…`, and condor_history alike"""
    if words[:2] != ["-json", "-attributes"]:
        raise Usage("this stand-in knows -json -attributes only")
    names, ids = set(words[2].split(",")), words[3:]
    if over and ids[:1] == ["-limit"]:
        ids = ids[2:]
    jobs = queue.jobs()
    numbers = [each.partition(".")[0] for each in ids]
    found = [each for each in numbers if each in jobs and (jobs[each]["state"] == "over") == over]
    told = [{k: v for k, v in describe(each, jobs[each]).items() if k in names} for each in found]
    print("[\n" + "\n,\n".join(json.dumps(facts, indent=2) for facts in told) + "\n]")


def find_named(queue: Queue, constraint: str) -> list[str]:
    """The jobs that an expression about their name, and about being in the queue, chooses."""
    asked = re.fullmatch(r'JobBatchName == "([^"]+)"( && JobStatus != 3 && JobStatus != 4)?', constraint)
    if not asked:
        raise Usage(f"Error: this stand-in cannot read the constraint {constraint}")
    jobs = queue.jobs()
    return [number for number in jobs if jobs[number]["name"] == asked[1] and jobs[number]["state"] != "over"]


def list_named(queue: Queue, words: list[str]) -> None:
    """`condor_q -constraint C -format %d. ClusterId -format %d\\n ProcId`"""
    if words[2:] != ["-format", "%d.", "ClusterId", "-format", r"%d\n", "ProcId"]:
        raise Usage("this stand-in knows the format of an id only")
    for number in find_named(queue, words[1]):
        print(f"{number}.0")


def remove_named(queue: Queue, constraint: str) -> None:
    """`condor_rm -constraint C`"""
    numbers = find_named(queue, constraint)
    for number in numbers:
        queue.end(number, "owner")
    if not numbers:
        fail("Couldn't find/remove all jobs matching constraint (" + constraint + ")", 1)
    print("Jobs matching constraint (" + constraint + ") have been marked for removal")


def change(queue: Queue, words: list[str], act: Any, states: tuple[str, ...], done: str, wrong: str) -> None:
    """One that does something with each job that is in one of these states."""
    jobs, code = queue.jobs(), 0
    for identity in words:
        number = identity.partition(".")[0]
        state = jobs[number]["state"] if number in jobs else "over"
        if state == "over":
            print(f"Job {identity} not found", file=sys.stderr)
        elif state not in states:
            print(f"Job {identity} {wrong}", file=sys.stderr)
        else:
            act(number)
            print(f"Job {identity} {done}")
            continue
        code = 1
    sys.exit(code)


def main() -> None:
    """Do what the command called so does."""
    queue, name, words = Queue(), Path(sys.argv[0]).name, sys.argv[1:]
    misbehave(DOWN)
    everything = tuple(STATES)
    changes = {
        "condor_rm": (lambda number: queue.end(number, "owner"), everything, "marked for removal", ""),
        "condor_hold": (queue.stop, ("queued",), "held", "cannot be held by this stand-in"),
        "condor_release": (queue.go_on, ("held",), "released", "not held to be released"),
        "condor_suspend": (queue.stop, ("running",), "suspended", "not running to be suspended"),
        "condor_continue": (queue.go_on, ("suspended",), "continued", "not suspended to be continued"),
    }
    try:
        if name == "condor_submit":
            submit(queue, words)
        elif words[:1] == ["-constraint"]:
            list_named(queue, words) if name == "condor_q" else remove_named(queue, words[1])
        elif name in changes:
            change(queue, words, *changes[name])
        else:
            show(queue, words, over=name == "condor_history")
    except Usage as error:
        fail(str(error), 1)
