"""Stand-ins for PBS's commands, told apart by the name they are called by: qsub qstat qdel qsig qhold qrls.

They take the options, and print in the form, of OpenPBS's own commands and of recorded output:
docs/reference/hosts.md says which source tells what. Exit codes are PBS's error numbers (pbs_error.h), of
which a shell sees the lowest byte. Written from memory: the comment of a held job.
FAKE_PBS, words: forgetful (job_history_enable is false, as by default), plain (the user is no operator).
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from scheduler import HOSTS, Queue, Usage, fail, misbehave, options

SERVER = "pbs01"
DOWN = f"Connection refused\nqstat: cannot connect to server {SERVER} (errno=15010)"
STATES = {"queued": "Q", "held": "H", "running": "R", "suspended": "S", "over": "F"}
SUBSTATES = {"queued": "10", "held": "20", "running": "42", "suspended": "43"}
STAMP = "%a %b %d %H:%M:%S %Y"
SET = os.environ.get("FAKE_PBS", "").split()
UNKNOWN, DENIED, NO_QUEUE, FINISHED = 15001 % 256, 15007 % 256, 15018 % 256, 15139 % 256
# What a user's environment may put there: ends of lines, and words that look like qstat's own.
VARIABLES = (
    "PBS_O_HOME=/home/alice,PBS_O_LANG=C.UTF-8,PBS_O_PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/games,"
    "NUMBER=007,QUOTED=a \"b\" 'c'\\, d,BASH_FUNC_f()=() {  job_state = X\n}\n,PBS_O_WORKDIR=/home/alice"
)


def qsub(queue: Queue, words: list[str]) -> None:
    """`qsub [options] < script`"""
    chosen, rest = options(words, "V z", "C N S l j o e q A W r k m P p")
    if rest:
        raise Usage("this stand-in takes scripts from standard input only")
    if not re.fullmatch(r"[A-Za-z0-9_+-][!-~]{0,235}", chosen["N"][0]):
        raise Usage("illegal -N value")
    if chosen.get("q", ["workq"])[0] not in ("workq", "short"):
        fail("qsub: Unknown queue", NO_QUEUE)
    resources = dict(word.split("=", 1) for word in chosen["l"])
    if strange := set(resources) - {"select", "place", "walltime"}:
        fail(f"qsub: Unknown resource Resource_List.{strange.pop()}", 15035 % 256)
    if not re.fullmatch(r"(free|pack|scatter|vscatter)(:(excl|exclhost|shared))?", resources["place"]):
        fail("qsub: Illegal attribute or resource value Resource_List.place", 15014 % 256)
    hours, minutes, seconds = map(int, resources["walltime"].split(":"))
    number = queue.submit(
        {
            "name": chosen["N"][0], "wanted": int(resources["select"].partition(":")[0]),
            "limit": hours * 3600 + minutes * 60 + seconds, "warn": None, "output": chosen["o"][0],
            "directory": "/", "shell": [chosen["S"][0]],
            "variables": {"PBS_JOBID": "{NUMBER}." + SERVER, "PBS_NODEFILE": "{FILE}"},
        },
        sys.stdin.read(),
    )  # fmt: skip
    print(f"{number}.{SERVER}")


def qstat(queue: Queue, words: list[str]) -> None:
    """`qstat [-x] -f id…`"""
    chosen, ids = options(words, "x f", "")
    if "f" not in chosen:
        raise Usage("this stand-in knows -f only")
    jobs, code = queue.jobs(), 0
    for identity in ids:
        job = jobs.get(identity.partition(".")[0])
        over = job is not None and job["state"] == "over"
        if "x" in chosen and "forgetful" in SET:  # its exit code is 0 all the same
            print(f"qstat: job_history_enable is set to false {identity}", file=sys.stderr)
        elif job is None or (over and "forgetful" in SET):
            print(f"qstat: Unknown Job Id {identity}", file=sys.stderr)
            code = UNKNOWN
        elif over and "x" not in chosen:
            hint = "Job has finished, use -x or -H to obtain historical job information"
            print(f"qstat: {identity} {hint}", file=sys.stderr)
            code = FINISHED
        else:
            print(f"Job Id: {identity}")
            print("\n".join(_line(name, value) for name, value in _facts(job)) + "\n")
    sys.exit(code)


def _line(name: str, value: str) -> str:
    """As `prt_attr` of OpenPBS's qstat: broken at commas where that goes, else in the middle of a word."""
    said, column = f"    {name} = ", len(name) + 7
    for place, part in enumerate(value.split(",")):
        said += "," if place else ""
        if len(part) + column < 78:
            said, column = said + part, column + len(part)
            continue
        if place:
            said, column = said + "\n\t", 9
        for letter in part:
            said, column = said + letter, column + 1
            if column > 78:
                said, column = said + "\n\t", 8
    return said


def _facts(job: dict[str, Any]) -> list[tuple[str, str]]:
    """The attributes in PBS's order."""
    ran = int(job.get("ended", time.time()) - job["started"]) if job["started"] else 0
    used = max(ran, job["limit"] + 1) if job["why"] == "limit" else ran
    hosts = [f"{host}.compute.cluster.example" for host in job["hosts"]]
    made = time.strftime(STAMP, time.localtime(job["started"] or time.time()))
    facts = [("Job_Name", job["name"]), ("Job_Owner", "alice@login1.cluster.example")]
    if job["started"]:
        facts += [(f"resources_used.{name}", value) for name, value in
                  (("cpupercent", "0"), ("cput", "00:00:00"), ("mem", "0b"), ("ncpus", str(job["wanted"])),
                   ("vmem", "0kb"), ("walltime", _clock(used)))]  # fmt: skip
    facts += [
        ("job_state", STATES[job["state"]]), ("queue", "workq"), ("server", SERVER), ("Checkpoint", "u"),
        ("ctime", made), ("Error_Path", f"login1.cluster.example:/home/alice/{job['name']}.e1"),
    ]  # fmt: skip
    if hosts:
        facts.append(("exec_host", "+".join(f"{host}/0*16" for host in job["hosts"])))
        facts.append(("exec_vnode", "+".join(f"({host}:ncpus=1)" for host in hosts)))
    facts += [
        ("Hold_Types", "u" if job["state"] == "held" else "n"), ("Join_Path", "oe"), ("Keep_Files", "n"),
        ("Mail_Points", "a"), ("mtime", made), ("Output_Path", f"login1.cluster.example:{job['output']}"),
        ("Priority", "0"), ("qtime", made), ("Rerunable", "False"),
        ("Resource_List.ncpus", str(job["wanted"])), ("Resource_List.nodect", str(job["wanted"])),
        ("Resource_List.place", "scatter:exclhost"), ("Resource_List.select", f"{job['wanted']}:ncpus=1"),
        ("Resource_List.walltime", _clock(job["limit"])),
    ]  # fmt: skip
    if job["started"]:
        facts += [("stime", made), ("session_id", str(job.get("group", 0)))]
    facts += [("substate", _substate(job)), ("Variable_List", VARIABLES), ("comment", _comment(job, hosts))]
    facts += [("etime", made), ("run_count", "1"), ("eligible_time", "00:00:00")]
    if job["state"] == "over":
        if job["started"]:
            status = 256 - job["code"] if job["code"] < 0 else job["code"]
            facts.append(("Exit_status", "-29" if job["why"] == "limit" else str(status)))
        facts.append(("history_timestamp", str(int(time.time()))))
    return [*facts, ("project", "_pbs_project_default")]


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _substate(job: dict[str, Any]) -> str:
    """Of what is over: 91 deleted, 92 ended with 0, 93 with another status."""
    if job["state"] != "over":
        return SUBSTATES[job["state"]]
    return "91" if job["why"] == "owner" else "93" if job["code"] else "92"


def _comment(job: dict[str, Any], hosts: list[str]) -> str:
    if job["started"]:
        at = time.strftime("%a %b %d at %H:%M", time.localtime(job["started"]))
        said = f"Job run at {at} on " + "+".join(f"({host}:ncpus=1)" for host in hosts)
        ends = {"91": " and terminated", "92": " and finished", "93": " and failed"}
        return said + ends.get(_substate(job), "")
    if job["state"] == "held":
        return "Job held by alice on " + time.strftime(STAMP)
    if job["wanted"] > len(HOSTS):
        return "Can Never Run: Not enough total nodes available"
    waits = "Not Running: Job is requesting an exclusive node and node is in use, free are too few"
    return waits + (" and terminated" if job["state"] == "over" else "")


def _each(queue: Queue, ids: list[str], act: Any) -> None:
    jobs, code = queue.jobs(), 0
    for identity in ids:
        number, name = identity.partition(".")[0], Path(sys.argv[0]).name
        job = jobs.get(number)
        if job is None or (job["state"] == "over" and "forgetful" in SET):
            print(f"{name}: Unknown Job Id {identity}", file=sys.stderr)
            code = UNKNOWN
        elif job["state"] == "over":
            print(f"{name}: Job has finished {identity}", file=sys.stderr)
            code = FINISHED
        else:
            act(number)
    sys.exit(code)


def qsig(queue: Queue, words: list[str]) -> None:
    """`qsig -s suspend|resume id…`, for operators only."""
    chosen, ids = options(words, "", "s")
    if "plain" in SET:
        fail(f"qsig: Unauthorized Request {ids[0]}", DENIED)
    _each(queue, ids, {"suspend": queue.stop, "resume": queue.go_on}[chosen["s"][0]])


def main() -> None:
    """Do what the command called so does."""
    queue, name, words = Queue(), Path(sys.argv[0]).name, sys.argv[1:]
    misbehave(DOWN)
    commands = {
        "qsub": lambda: qsub(queue, words),
        "qstat": lambda: qstat(queue, words),
        "qsig": lambda: qsig(queue, words),
        "qdel": lambda: _each(queue, options(words, "x", "W")[1], lambda number: queue.end(number, "owner")),
        "qhold": lambda: _each(queue, options(words, "", "h")[1], queue.stop),
        "qrls": lambda: _each(queue, options(words, "", "h")[1], queue.go_on),
    }
    try:
        commands[name]()
    except Usage as error:
        fail(f"{name}: {error}\nusage: {name} ...", 2)
