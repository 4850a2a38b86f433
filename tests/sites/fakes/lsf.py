"""Stand-ins for LSF's commands, told apart by their names: bsub bjobs bkill bstop bresume blaunch.

They take the options, and print in the form, of the IBM Spectrum LSF 10.1 command reference and of recorded
output: docs/reference/hosts.md says which source tells what. Written from memory: the ERROR record of
bjobs -json, the words of refusals, and all that blaunch says.
FAKE_LSF, words: hms (LSB_HMS_TIME_FORMAT=y), short (LSB_SHORT_HOSTLIST=1), consistent
(LSB_BJOBS_CONSISTENT_EXIT_CODE=Y), busy (a line on standard output before the answer), plain (a queue that
takes no exclusive jobs).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from scheduler import HOSTS, Queue, Usage, fail, misbehave, options

DOWN = "Cannot connect to LSF. Please wait ...\nFailed in an LSF library call: LIM is down; try later"
STATES = {"queued": "PEND", "held": "PSUSP", "running": "RUN", "suspended": "USUSP"}
FIELDS = ("jobid", "stat", "exit_code", "exit_reason", "pend_reason", "exec_host", "run_time", "time_left")
TERMS = {
    "owner": "TERM_OWNER: job killed by owner",
    "limit": "TERM_RUNLIMIT: job killed after reaching LSF run time limit",
}
SET = os.environ.get("FAKE_LSF", "").split()


def bsub(queue: Queue, words: list[str]) -> None:
    """`bsub [options] < script`"""
    chosen, rest = options(words, "x r rn H K", "J n R W o e q P sla U wa wt cwd m app G env L")
    if rest:
        raise Usage("this stand-in takes scripts from standard input only")
    if int(chosen["n"][0]) < 1 or not chosen["W"][0].isdigit():
        raise Usage("bad argument")
    name = chosen.get("q", ["normal"])[0]
    if name not in ("normal", "short"):
        fail(f"{name}: No such queue. Job not submitted.", 255)
    if "x" in chosen and "plain" in SET:
        fail("Queue does not accept exclusive jobs. Job not submitted.", 255)
    warn = int(chosen["wt"][0]) * 60 if "wa" in chosen else None
    number = queue.submit(
        {
            "name": chosen["J"][0], "wanted": int(chosen["n"][0]), "limit": int(chosen["W"][0]) * 60,
            "warn": warn, "at_limit": signal.SIGUSR2,
            "signal": getattr(signal, f"SIG{chosen['wa'][0]}") if warn else 0, "output": chosen["o"][0],
            "directory": chosen["cwd"][0], "shell": ["/bin/sh"],
            "variables": {"LSB_JOBID": "{NUMBER}", "LSB_MCPU_HOSTS": "{MCPU}", "LSB_DJOB_HOSTFILE": "{FILE}"},
        },
        sys.stdin.read(),
    )  # fmt: skip
    if "busy" in SET:
        print("Cannot connect to LSF. Please wait ...\n** this site says: memory was not asked for **")
    if "BSUB_QUIET" not in os.environ:
        print(f"Job <{number}> is submitted to {'queue' if 'q' in chosen else 'default queue'} <{name}>.")


def bjobs(queue: Queue, words: list[str]) -> None:
    """`bjobs -a -json -o "fields" id…`"""
    chosen, ids = options(words, "a json noheader w X", "o u")
    fields = chosen["o"][0].split()
    if "json" not in chosen or (unknown := set(fields) - set(FIELDS)):
        fail(f"{unknown.pop() if 'json' in chosen else 'no -json'}: Illegal job field name.", 255)
    jobs = queue.jobs()
    if "busy" in SET:
        print("Cannot connect to LSF. Please wait ...")
    if "a" not in chosen and all(jobs.get(number, {}).get("state") == "over" for number in ids):
        fail("No unfinished job found", 255 if "consistent" in SET else 0)
    records = [
        _record(number, jobs[number], fields)
        if number in jobs
        else {"JOBID": number, "ERROR": f"Job <{number}> is not found"}
        for number in ids
    ]
    answer = json.dumps({"COMMAND": "bjobs", "JOBS": len(records), "RECORDS": records}, indent=2)
    print(answer.replace("/", "\\/").replace('": ', '":'))
    missing = [number for number in ids if number not in jobs]
    if missing and ("consistent" in SET or len(missing) == len(ids)):
        sys.exit(255)


def _record(number: str, job: dict[str, Any], fields: list[str]) -> dict[str, str]:
    over = job["state"] == "over"
    ran = int(job.get("ended", time.time()) - job["started"]) if job["started"] else 0
    signalled = job["code"] is not None and job["code"] < 0
    code = 128 - job["code"] if signalled else job["code"]
    state = STATES.get(job["state"]) or ("EXIT" if code or job["why"] else "DONE")
    left = max(0, job["limit"] - ran)
    full = {
        "JOBID": number, "STAT": state, "EXIT_CODE": str(code) if over and code else "",
        "EXIT_REASON": TERMS.get(job["why"], "") if over else "",
        "PEND_REASON": _reason(state, job["wanted"]),
        "EXEC_HOST": ":".join(f"1*{host}" if "short" in SET else host for host in job["hosts"]),
        "RUN_TIME": _clock(ran) if "hms" in SET else f"{ran} second(s)",
        "TIME_LEFT": "" if over or not job["started"] else f"{left // 3600}:{left // 60 % 60:02d} L",
    }  # fmt: skip
    return {field.upper(): full[field.upper()] for field in fields}


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _reason(state: str, wanted: int) -> str:
    if state == "PSUSP":
        return "The job was suspended by the user while pending;"
    if state != "PEND":
        return ""
    if wanted > len(HOSTS):
        return "Not enough hosts to meet the job's spanning requirement;"
    return "Not specified in job submission: 2 hosts; Job slot limit reached: 4 hosts;"


def _each(queue: Queue, words: list[str], done: str, act: Any) -> None:
    _, ids = options(words, "", "")
    jobs, code = queue.jobs(), 0
    for number in ids:
        if number in jobs and jobs[number]["state"] != "over":
            act(number)
            print(f"Job <{number}> is being {done}")
            continue
        said = "Job has already finished" if number in jobs else "No matching job found"
        print(f"Job <{number}>: {said}", file=sys.stderr)
        code = 255
    sys.exit(code)


def stop(queue: Queue, number: str) -> None:
    """Sequential jobs get SIGSTOP, parallel ones SIGTSTP, after which LSF takes them for stopped."""
    parallel = queue.jobs()[number]["wanted"] > 1
    queue.stop(number, signal.SIGTSTP if parallel else signal.SIGSTOP)


def blaunch(words: list[str]) -> None:
    """`blaunch [-n] [-no-shell | -use-login-shell] [-z hosts | host] command…`: all on this machine."""
    chosen, rest = options(words, "n no-shell use-login-shell", "z")
    allocated = os.environ.get("LSB_MCPU_HOSTS", "").split()[::2]
    if "LSB_JOBID" not in os.environ:
        fail("blaunch: not running in LSF batch", 255)
    hosts = chosen["z"][0].split() if "z" in chosen else [rest.pop(0)]
    if strange := set(hosts) - set(allocated):
        fail(f"{strange.pop()}: host is not in the allocation", 255)
    argv = rest if "no-shell" in chosen else ["sh", "-c", " ".join(rest)]
    stdin = subprocess.DEVNULL if "n" in chosen else None
    sys.exit(max(subprocess.run(argv, stdin=stdin, check=False).returncode for _ in hosts))


def main() -> None:
    """Do what the command called so does."""
    queue, name, words = Queue(), Path(sys.argv[0]).name, sys.argv[1:]
    misbehave(DOWN)
    commands = {
        "bsub": lambda: bsub(queue, words),
        "bjobs": lambda: bjobs(queue, words),
        "bkill": lambda: _each(queue, words, "terminated", lambda number: queue.end(number, "owner")),
        "bstop": lambda: _each(queue, words, "stopped", lambda number: stop(queue, number)),
        "bresume": lambda: _each(queue, words, "resumed", queue.go_on),
        "blaunch": lambda: blaunch(words),
    }
    try:
        commands[name]()
    except Usage as error:
        fail(f"{name}: {error}\nUsage: {name} [-h] ...", 255)
