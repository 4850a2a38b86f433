"""Stand-ins for PBS's commands, told apart by the name they are called by: qsub qstat qdel qsig qhold qrls.

They take the options, and print in the form, of the PBS Professional 2022.1 reference guide, chapter 2, and
of published `qstat -f -F json` output of OpenPBS 19 to 22. Not verified on a real server: exit codes (153 and
35 as people report them), and the comments of finished jobs.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from scheduler import HOSTS, Queue, Usage, misbehave, options

SERVER = "pbs01"
DOWN = f"Connection refused\nqstat: cannot connect to server {SERVER} (errno=15010)"
STATES = {"queued": "Q", "held": "H", "running": "R", "suspended": "S", "over": "F"}
STAMP = "%a %b %d %H:%M:%S %Y"


def qsub(queue: Queue, words: list[str]) -> None:
    """`qsub [options] < script`"""
    chosen, rest = options(words, "V z", "C N S l j o e q A W r k m P p")
    if rest:
        raise Usage("this stand-in takes scripts from standard input only")
    if not re.fullmatch(r"[A-Za-z0-9_+-][!-~]{0,235}", chosen["N"][0]):
        sys.exit("qsub: illegal -N value")
    if chosen.get("q", ["workq"])[0] not in ("workq", "short"):
        sys.exit("qsub: Unknown queue")
    resources = dict(word.split("=", 1) for word in chosen["l"])
    if not re.fullmatch(r"(free|pack|scatter|vscatter)(:(excl|exclhost|shared))?", resources["place"]):
        sys.exit("qsub: Illegal attribute or resource value Resource_List.place")
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
    """`qstat -x -f -F json id…`"""
    chosen, ids = options(words, "x f", "F")
    if chosen.get("F") != ["json"] or "f" not in chosen:
        raise Usage("this stand-in knows -f -F json only")
    jobs, found, code = queue.jobs(), {}, 0
    for identity in ids:
        number = identity.partition(".")[0]
        if number not in jobs:
            print(f"qstat: Unknown Job Id {identity}", file=sys.stderr)
            code = 153
        elif jobs[number]["state"] == "over" and "x" not in chosen:
            print(
                f"qstat: {identity} Job has finished, use -x or -H to obtain historical job information",
                file=sys.stderr,
            )
            code = 35
        else:
            found[identity] = _facts(jobs[number])
    head = {"timestamp": int(time.time()), "pbs_version": "22.05.11", "pbs_server": SERVER}
    print(json.dumps({**head, **({"Jobs": found} if found else {})}, indent=4, separators=(",", ":")))
    sys.exit(code)


def _facts(job: dict[str, Any]) -> dict[str, Any]:
    limit = job["limit"]
    walltime = f"{limit // 3600:02d}:{limit // 60 % 60:02d}:{limit % 60:02d}"
    facts: dict[str, Any] = {
        "Job_Name": job["name"],
        "job_state": STATES[job["state"]],
        "queue": "workq",
        "server": SERVER,
        "Hold_Types": "u" if job["state"] == "held" else "n",
        "Resource_List": {"nodect": job["wanted"], "walltime": walltime},
    }
    if job["started"]:
        facts["stime"] = time.strftime(STAMP, time.localtime(job["started"]))
        facts["exec_host"] = "+".join(f"{host}/0" for host in job["hosts"])
        facts["comment"] = f"Job run at {time.strftime('%a %b %d at %H:%M')} on (h1:ncpus=1)"
    elif job["state"] == "queued":
        never = "Can Never Run: Not enough total nodes available"
        facts["comment"] = (
            never if job["wanted"] > len(HOSTS) else "Not Running: Not enough free nodes available"
        )
    if job["state"] == "over" and job["started"]:
        status = 256 - job["code"] if job["code"] < 0 else job["code"]
        facts["Exit_status"] = -29 if job["why"] == "limit" else status
    return facts


def _each(queue: Queue, ids: list[str], act: Any) -> None:
    jobs = queue.jobs()
    for identity in ids:
        number, name = identity.partition(".")[0], Path(sys.argv[0]).name
        if number not in jobs:
            sys.exit(f"{name}: Unknown Job Id {identity}")
        if jobs[number]["state"] == "over":
            sys.exit(f"{name}: Job has finished {identity}")
        act(number)


def qsig(queue: Queue, words: list[str]) -> None:
    """`qsig -s suspend|resume id…`"""
    chosen, ids = options(words, "", "s")
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
        print(f"{name}: {error}\nusage: {name} ...", file=sys.stderr)
        sys.exit(2)
