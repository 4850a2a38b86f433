"""Jobs as PBS's qstat describes them in its long form. Pure; raises ParseFailure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from steelyard.plugin import ParseFailure
from steelyard.sites.kit.batch.job import NODE_FAILED, Job, JobState, find_state
from steelyard.sites.kit.batch.nodes import parse_seconds

_STATES = {
    "Q": JobState.QUEUED,
    "H": JobState.QUEUED,
    "W": JobState.QUEUED,
    "T": JobState.QUEUED,
    "M": JobState.QUEUED,
    "B": JobState.RUNNING,
    "R": JobState.RUNNING,
    "E": JobState.RUNNING,
    "S": JobState.SUSPENDED,
    "U": JobState.SUSPENDED,
    "F": JobState.DONE,
    "X": JobState.DONE,
}
_TELLING = {
    "W": "its start time has not yet come",
    "T": "it is moved to another server",
    "M": "it was moved to another server",
    "E": "it is ending",
    "U": "the workstation that it runs on is in use",
}
# What follows "Not Running:" in a job's comment, in the words of OpenPBS's scheduler.
_REASONS = {
    "Insufficient amount of resource": "waits for free nodes",
    "Not enough free nodes available": "waits for free nodes",
    "Job is requesting an exclusive node and node is in use": "waits for free nodes",
    "No available resources on nodes": "waits for free nodes",
    "Node is in an ineligible state": "waits for nodes that are down or out of service",
    "Not enough total nodes available": "requests more nodes than exist: lower `nodes`",
    "Can Never Run": "requests what no node has; it will never start",
    "Job would conflict with reservation or top job": "waits behind jobs of higher priority",
    "Job would cross dedicated time boundary": "would run into dedicated time",
    "Queue not started": "its queue is not starting jobs at present",
    "Server job limit has been reached": "the server is at its job limit",
    "Queue job limit has been reached": "its queue is at its job limit",
    "User has reached": "is at the limit of its user",
    "User limit reached": "is at the limit of its user",
}
_ENDS = {  # negative exit statuses; the JOB_EXEC_… of OpenPBS's job.h, those from -24 on since version 20
    -1: (JobState.FAILED, "it could not be started; see its output"),
    -2: (JobState.FAILED, "it could not be started; see its output"),
    -3: (JobState.FAILED, "too many attempts to start it failed"),
    -10: (JobState.FAILED, "its user is not known on the node"),
    -14: (JobState.FAILED, NODE_FAILED),
    -20: (JobState.FAILED, NODE_FAILED),
    -24: (JobState.FAILED, "it used more cores than it was given"),
    -25: (JobState.FAILED, "it used more cores than it was given"),
    -26: (JobState.FAILED, "it used more virtual memory than it was given"),
    -27: (JobState.FAILED, "it used more memory than it was given"),
    -28: (JobState.TIMED_OUT, "it used more CPU time than it was given"),
    -29: (JobState.TIMED_OUT, ""),  # JOB_EXEC_KILL_WALLTIME
    -30: (JobState.FAILED, "its nodes could not join to start it"),
}
_KILLED = {256 + 9: "SIGKILL", 256 + 15: "SIGTERM"}
_TERMINATED = "91"  # sub-state of a job that was deleted; 92 has finished well, 93 has failed


def parse_jobs(stdout: str) -> dict[str, Job]:
    """The jobs by id; none when it found none."""
    return {identity: _job(identity, facts) for identity, facts in _blocks(stdout).items()}


def _blocks(stdout: str) -> dict[str, dict[str, str]]:
    """The attributes of each job in the long form of qstat, which breaks long lines and goes on after a tab.

    A variable's value may hold line ends of its own: those lines are no attributes.
    """
    text = stdout.replace("\n\t", "").strip()
    if text and not text.startswith("Job Id: "):
        raise ParseFailure(f"'{text[:80]}' does not describe a job")
    blocks: dict[str, dict[str, str]] = {}
    for block in re.split(r"^Job Id: ", text, flags=re.MULTILINE)[1:]:
        identity, _, rest = block.partition("\n")
        facts = re.findall(r"^    ([A-Za-z_]\w*(?:\.\w+)?) = (.*)$", rest, re.MULTILINE)
        blocks[identity.strip()] = dict(reversed(facts))  # of two of the same name the first
    return blocks


def _job(identity: str, facts: Mapping[str, str]) -> Job:
    word = facts.get("job_state", "")
    state, reason = find_state(_STATES, identity, word), _TELLING.get(word, "")
    if state is JobState.DONE:
        state, reason = _end_state(facts)
    elif word == "H":
        reason = _explain_hold(facts)
    elif word == "Q":
        reason = _explain_wait(facts.get("comment", ""))
    hosts = tuple(
        dict.fromkeys(part.partition("/")[0] for part in facts.get("exec_host", "").split("+") if part)
    )
    limit = parse_seconds(facts.get("Resource_List.walltime", ""))
    return Job(identity, state, reason, hosts, _instant(facts.get("stime", "")), limit)


def _end_state(facts: Mapping[str, str]) -> tuple[JobState, str]:
    """What the exit status and the sub-state say.

    PBS ends a job by SIGTERM both at its limit and when it is deleted, and a job may hear that and end with
    a code of its own.
    """
    comment, said = facts.get("comment", ""), facts.get("Exit_status")
    deleted = facts.get("substate") == _TERMINATED
    if said is None:  # it never ran
        return JobState.CANCELLED, "" if deleted or "terminated" in comment else comment
    status = _number(said)
    if status in _ENDS:
        return _ENDS[status]
    if status and _has_overrun(facts):
        return JobState.TIMED_OUT, ""
    if deleted or status in _KILLED:
        return JobState.CANCELLED, f"ended by {_KILLED[status]}" if status in _KILLED else ""
    return (JobState.FAILED, f"exit code {status}") if status else (JobState.DONE, "")


def _number(text: str) -> int:
    if not re.fullmatch(r"-?\d+", text):
        raise ParseFailure(f"'{text[:40]}' is not an exit status")
    return int(text)


def _has_overrun(facts: Mapping[str, str]) -> bool:
    used = parse_seconds(facts.get("resources_used.walltime", ""))
    limit = parse_seconds(facts.get("Resource_List.walltime", ""))
    return used is not None and limit is not None and used >= limit


def _explain_hold(facts: Mapping[str, str]) -> str:
    """Who may release it: `u` its user, `o` and `s` only operators; what depends on other jobs has an `s`."""
    holds = facts.get("Hold_Types", "u")
    if "depend" in facts and "u" not in holds:
        return "waits for another job to end"
    if "o" in holds or "s" in holds:
        return _explain_wait(facts.get("comment", "")) or "is held by the operator"
    return "is held; `steelyard continue` releases it"


def _explain_wait(comment: str) -> str:
    said = comment.partition("Not Running:")[2].strip() or comment.strip()
    for beginning, sentence in _REASONS.items():
        if said.startswith(beginning):
            return sentence
    return said


def _instant(text: str) -> float | None:
    """`Fri Nov 20 18:45:12 2026`, the server's local time."""
    if not text:
        return None
    try:
        return datetime.strptime(text, "%a %b %d %H:%M:%S %Y").timestamp()
    except ValueError as error:
        raise ParseFailure(f"'{text[:40]}' is not a point in time") from error
