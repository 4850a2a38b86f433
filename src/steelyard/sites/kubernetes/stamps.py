"""Tells how the Jobs of a command of kubectl stand, a JSON object a line; see `Engine.list_stamps`.

It is fed to the Python of a host that has nothing of Steelyard, and so imports nothing of it. Its arguments
are a command that prints Jobs and pods as JSON, `--`, and one that prints events, which is run only where a
Job has no pod: they tell of a quota or a policy.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

KEY = "steelyard/job"
AS_USUAL = ("Completed", "Error")
"""Reasons that say no more than an exit code does. What a container is told to have ended of otherwise counts
although its code may be 0: memory may have run out for one of its processes only.
"""


def read_stamps(objects: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """A line for each job: of its pod, or of the Job where that ended without one, or waits for one."""
    pods = {find_key(each): each for each in objects if each["kind"] == "Pod"}
    told = {key: read_pod(pod) for key, pod in pods.items()}
    for job in (each for each in objects if each["kind"] == "Job"):
        key = find_key(job)
        failed = [each for each in job["status"].get("conditions") or () if is_failure(each)]
        if failed and (key not in told or told[key]["stands"] != "over"):
            told[key] = tell(job, "over", failed[0].get("reason") or "Failed")
        elif key not in told:
            told[key] = tell(job, "waits", "")
    return iter(told.values())


def is_failure(condition: dict[str, Any]) -> bool:
    """Whether a condition of a Job says that it has failed."""
    return bool(condition["type"] == "Failed" and condition["status"] == "True")


def read_pod(pod: dict[str, Any]) -> dict[str, str]:
    """How the one container of a pod stands."""
    status = pod["status"]
    state = next((each.get("state") or {} for each in status.get("containerStatuses") or ()), {})
    ended = state.get("terminated") or {}
    if ended or status.get("phase") in ("Succeeded", "Failed"):
        reason = status.get("reason") or ended.get("reason") or ""
        return tell(pod, "over", "" if reason in AS_USUAL else reason, ended.get("message") or "")
    return tell(pod, "runs" if state.get("running") else "waits", find_obstacle(status, state))


def find_obstacle(status: dict[str, Any], state: dict[str, Any]) -> str:
    """What keeps a pod waiting; nothing where it does not wait."""
    scheduled = [each for each in status.get("conditions") or () if each["type"] == "PodScheduled"]
    waiting = (state.get("waiting") or {}).get("reason")
    return waiting or next((each.get("reason") or "" for each in scheduled), "")


def tell(about: dict[str, Any], stands: str, why: str, stamps: str = "") -> dict[str, str]:
    """What a line says."""
    return {"job": find_key(about), "stands": stands, "why": why, "stamps": stamps}


def find_key(about: dict[str, Any]) -> str:
    """Which job an object is, or is of."""
    return str(about["metadata"]["labels"][KEY])


def ask(words: list[str]) -> list[dict[str, Any]] | None:
    """The objects that a command prints; None where it fails."""
    done = subprocess.run(words, stdout=subprocess.PIPE, check=False)
    return None if done.returncode else list(json.loads(done.stdout.decode())["items"])


def main(words: list[str]) -> None:
    """Run the commands, and tell of what they print."""
    middle = words.index("--")
    objects = ask(words[:middle])
    if objects is None:
        sys.exit(1)
    told = list(read_stamps(objects))
    jobs = {find_key(each): each["metadata"]["uid"] for each in objects if each["kind"] == "Job"}
    alone = jobs.keys() - {find_key(each) for each in objects if each["kind"] == "Pod"}
    if any(each["stands"] == "waits" and each["job"] in alone for each in told):
        events = ask(words[middle + 1 :]) or []  # who may not see them reads no reason
        refusals = {each["involvedObject"]["uid"]: each["message"] for each in events}
        for each in told:
            each["why"] = each["why"] or refusals.get(jobs.get(each["job"], ""), "")
    for each in told:
        print(json.dumps(each))


if __name__ == "__main__":
    main(sys.argv[1:])
