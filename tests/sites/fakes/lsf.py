"""Stand-ins for LSF's commands, told apart by the name they are called by: bsub bjobs bkill bstop bresume.

They take the options, and print in the form, of the IBM Spectrum LSF 10.1 command reference: bsub, bjobs
(-json with -o; -noheader), bkill, bstop, bresume. Not verified on a real server: the wording of the pending
reasons' tails, the exit codes beside 255, and the ERROR record of bjobs -json.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

from scheduler import HOSTS, Queue, Usage, misbehave, options

DOWN = "Cannot connect to LSF. Please wait ...\nFailed in an LSF library call: LIM is down; try later"
STATES = {"queued": "PEND", "held": "PSUSP", "running": "RUN", "suspended": "USUSP"}
FIELDS = ("jobid", "stat", "exit_code", "exit_reason", "pend_reason", "exec_host", "run_time", "time_left")
TERMS = {
    "owner": "TERM_OWNER: job killed by owner",
    "limit": "TERM_RUNLIMIT: job killed after reaching LSF run time limit",
}


def bsub(queue: Queue, words: list[str]) -> None:
    """`bsub [options] < script`"""
    chosen, rest = options(words, "x r rn H K", "J n R W o e q P sla U wa wt cwd m app G env L")
    if rest:
        raise Usage("this stand-in takes scripts from standard input only")
    if int(chosen["n"][0]) < 1 or not chosen["W"][0].isdigit():
        raise Usage("bad argument")
    if chosen.get("q", ["normal"])[0] not in ("normal", "short"):
        sys.exit(f"{chosen['q'][0]}: No such queue. Job not submitted.")
    warn = int(chosen["wt"][0]) * 60 if "wa" in chosen else None
    number = queue.submit(
        {
            "name": chosen["J"][0], "wanted": int(chosen["n"][0]), "limit": int(chosen["W"][0]) * 60,
            "warn": warn,
            "signal": getattr(signal, f"SIG{chosen['wa'][0]}") if warn else 0, "output": chosen["o"][0],
            "directory": chosen["cwd"][0], "shell": ["/bin/sh"],
            "variables": {"LSB_JOBID": "{NUMBER}", "LSB_MCPU_HOSTS": "{MCPU}", "LSB_DJOB_HOSTFILE": "{FILE}"},
        },
        sys.stdin.read(),
    )  # fmt: skip
    kind = "queue" if "q" in chosen else "default queue"
    print(f"Job <{number}> is submitted to {kind} <{chosen.get('q', ['normal'])[0]}>.")


def bjobs(queue: Queue, words: list[str]) -> None:
    """`bjobs -json -o "fields" id…`"""
    chosen, ids = options(words, "json noheader a w X", "o u")
    fields = chosen["o"][0].split()
    if unknown := set(fields) - set(FIELDS):
        sys.exit(f"{unknown.pop()}: Illegal output field name")
    jobs = queue.jobs()
    records = [
        _record(number, jobs[number], fields)
        if number in jobs
        else {"JOBID": number, "ERROR": f"Job <{number}> is not found"}
        for number in ids
    ]
    print(json.dumps({"COMMAND": "bjobs", "JOBS": len(records), "RECORDS": records}, indent=2))
    if any("ERROR" in record for record in records):
        sys.exit(255)


def _record(number: str, job: dict[str, Any], fields: list[str]) -> dict[str, str]:
    over, ran = (
        job["state"] == "over",
        int(job.get("ended", time.time()) - job["started"]) if job["started"] else 0,
    )
    signalled = job["code"] is not None and job["code"] < 0
    code = 128 - job["code"] if signalled else job["code"]
    state = STATES.get(job["state"]) or ("EXIT" if code or job["why"] else "DONE")
    left = max(0, job["limit"] - ran)
    waits = "Not enough job slot(s): 4 hosts;"
    if job["wanted"] > len(HOSTS):
        waits = "Not enough hosts to meet the job's spanning requirement: 4 hosts;"
    if job["state"] == "held":
        waits = "Job was suspended by the user while pending;"
    full = {
        "JOBID": number, "STAT": state, "EXIT_CODE": str(code) if over and code else "",
        "EXIT_REASON": TERMS.get(job["why"], "") if over else "",
        "PEND_REASON": waits if state in ("PEND", "PSUSP") else "",
        "EXEC_HOST": ":".join(f"1*{host}" for host in job["hosts"]), "RUN_TIME": f"{ran} second(s)",
        "TIME_LEFT": "" if over or not job["started"] else f"{left // 3600}:{left // 60 % 60:02d} L",
    }  # fmt: skip
    return {field.upper(): full[field.upper()] for field in fields}


def _each(queue: Queue, words: list[str], done: str, act: Any) -> None:
    _, ids = options(words, "", "")
    jobs = queue.jobs()
    for number in ids:
        if number not in jobs:
            sys.exit(f"Job <{number}>: No matching job found")
        if jobs[number]["state"] == "over":
            sys.exit(f"Job <{number}>: Job has already finished")
        act(number)
        print(f"Job <{number}> is being {done}")


def main() -> None:
    """Do what the command called so does."""
    queue, name, words = Queue(), Path(sys.argv[0]).name, sys.argv[1:]
    misbehave(DOWN)
    commands = {
        "bsub": lambda: bsub(queue, words),
        "bjobs": lambda: bjobs(queue, words),
        "bkill": lambda: _each(queue, words, "terminated", lambda number: queue.end(number, "owner")),
        "bstop": lambda: _each(queue, words, "stopped", queue.stop),
        "bresume": lambda: _each(queue, words, "resumed", queue.go_on),
    }
    try:
        commands[name]()
    except Usage as error:
        sys.exit(f"{name}: {error}\nUsage: {name} [-h] ...")
