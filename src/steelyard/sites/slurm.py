"""Hosts that Slurm allocates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from steelyard.errors import ParseFailure
from steelyard.sites._batch import BatchOptions, BatchSite
from steelyard.sites._job import NODE_FAILED, Job, JobRequest, JobState
from steelyard.sites._nodes import expand, seconds

_STATUS = "%i|%T|%N|%S|%l|%r"
_HISTORY = "JobIDRaw,State,NodeList,Start,Timelimit,ExitCode"
_STATES = {
    "PENDING": JobState.QUEUED,
    "CONFIGURING": JobState.QUEUED,
    "REQUEUED": JobState.QUEUED,
    "REQUEUE_HOLD": JobState.QUEUED,
    "REQUEUE_FED": JobState.QUEUED,
    "SPECIAL_EXIT": JobState.QUEUED,
    "RESV_DEL_HOLD": JobState.QUEUED,
    "RUNNING": JobState.RUNNING,
    "COMPLETING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "STAGE_OUT": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "SUSPENDED": JobState.SUSPENDED,
    "STOPPED": JobState.SUSPENDED,
    "COMPLETED": JobState.DONE,
    "FAILED": JobState.FAILED,
    "BOOT_FAIL": JobState.FAILED,
    "NODE_FAIL": JobState.FAILED,
    "OUT_OF_MEMORY": JobState.FAILED,
    "LAUNCH_FAILED": JobState.FAILED,
    "RECONFIG_FAIL": JobState.FAILED,
    "CANCELLED": JobState.CANCELLED,
    "PREEMPTED": JobState.CANCELLED,
    "REVOKED": JobState.CANCELLED,
    "TIMEOUT": JobState.TIMED_OUT,
    "DEADLINE": JobState.TIMED_OUT,
}
_TELLING = {  # states that say more than ours
    "CONFIGURING": "its nodes are being prepared",
    "COMPLETING": "it is ending",
    "BOOT_FAIL": "a node did not boot",
    "NODE_FAIL": NODE_FAILED,
    "OUT_OF_MEMORY": "it used more memory than it was given",
    "PREEMPTED": "another job took its place",
    "REQUEUED": "it was put back into the queue",
}
_REASONS = {
    "None": "",
    "Resources": "waits for free nodes",
    "Priority": "waits behind jobs of higher priority",
    "Dependency": "waits for another job to end",
    "DependencyNeverSatisfied": "waits for a job that did not end as it should; it will never start",
    "BeginTime": "its start time is still to come",
    "PartitionTimeLimit": "asks for more time than the partition allows; it will never start: lower `time`",
    "PartitionNodeLimit": "asks for more nodes than the partition allows; it will never start: lower `nodes`",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition takes no jobs to the nodes just now",
    "PartitionConfig": "asks for what its partition cannot give, such as more nodes; lower `nodes`",
    "ReqNodeNotAvail": "nodes that it needs are down, drained or reserved",
    "NodeDown": "a node that it needs is down",
    "BadConstraints": "no node has what `--constraint` asks for; it will never start",
    "Reservation": "waits for its reservation to begin",
    "ReservationDeleted": "its reservation was deleted",
    "JobHeldUser": "was held; `steelyard continue` releases it",
    "JobHeldAdmin": "was held by the operator",
    "Licenses": "waits for a licence",
    "Cleaning": "waits until its former run is cleaned up",
    "Prolog": "the nodes' prologue is still running",
    "JobLaunchFailure": "could not be launched",
    "launch_failed_requeued_held": "could not be launched; it was held in the queue",
    "InvalidAccount": "its account is not valid; see `account`",
    "InvalidQOS": "its quality of service is not valid; see `qos`",
    "AccountNotAllowed": "its account may not use the partition",
    "QOSNotAllowed": "its quality of service may not use the partition",
    "TimeLimit": "",
    "NonZeroExitCode": "it ended with a code other than 0",
    "SystemFailure": "the system failed",
    "RaisedSignal": "a signal ended it",
    "OutOfMemory": "it used more memory than it was given",
    "BurstBufferResources": "waits for the burst buffer",
    "FrontEndDown": "no front end can run it",
}
# Limits come in families: QOSMaxJobsPerUserLimit, AssocGrpCpuLimit, MaxNodePerAccount …
_FAMILIES = (
    (re.compile(r"(QOS|Qos)\w*(Max|Grp|Limit)\w*"), "is at a limit of its quality of service ({0})"),
    (re.compile(r"(Assoc|Association)\w*"), "is at a limit of its account or user ({0})"),
    (re.compile(r"Max\w+Per\w+"), "is at a limit of its account or user ({0})"),
)
_NODE_ADDRESS = re.compile(r"NodeName=(\S+).*? NodeAddr=(\S+)")


class Slurm(BatchSite[BatchOptions]):
    """Hosts of a Slurm job, version 20.11 or newer (`srun --overlap`).

    `--site slurm:4` submits one job with four nodes. Steelyard must be installed where all nodes see it, and
    the store must lie on a file system that they share. Other options of sbatch pass through `options`.
    Steps are started by `srun`. Slurm warns the job by SIGUSR1 before its time limit, and ends it when it
    finds a node of it down (after SlurmdTimeout, 5 minutes by default). `--no-kill` is not asked for: a job
    whose first node is lost would hold the others until its time limit, and nobody would use them.
    """

    needs = ("sbatch", "squeue", "scancel", "scontrol", "srun")
    title = "Slurm"
    drops = ("SLURM_", "SQUEUE_", "SINFO_", "SCANCEL_", "SACCT_")
    keeps = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT")
    unknown = re.compile(r"Invalid job id|Job/step already completing or completed")
    unreachable = re.compile(
        r"Unable to contact slurm controller|Connection refused|slurm_load_jobs error: .*(Timeout|timed out)"
        r"|Resource temporarily unavailable|Slurm temporarily unable to accept|Zero Bytes were transmitted"
    )

    def submit_argv(self, request: JobRequest) -> tuple[str, ...]:
        """sbatch reads the script from standard input; see sbatch(1)."""
        named = (
            ("partition", request.partition),
            ("account", request.account),
            ("qos", request.qos),
            ("reservation", request.reservation),
        )
        return (
            "sbatch",
            "--parsable",
            f"--job-name={request.name}",
            f"--nodes={request.hosts}",
            "--ntasks-per-node=1",
            f"--time={request.minutes}",
            f"--output={_literal(request.output)}",
            "--open-mode=append",
            f"--chdir={request.working_directory}",
            f"--signal=B:USR1@{request.warning}",
            "--no-requeue",
            *(("--exclusive",) if request.exclusive else ()),
            *(f"--{name}={value}" for name, value in named if value),
            *request.passed_through,
        )

    def submitted(self, stdout: str) -> str:
        """`17`, or `17;cluster` where there are several."""
        match = re.fullmatch(r"(\d+)(;\S+)?", stdout.strip())
        if not match:
            raise ParseFailure(f"'{stdout.strip()[:80]}' is not a job id")
        return match[1]

    def status_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """One squeue, finished jobs included; Slurm forgets these after MinJobAge, 5 minutes."""
        return ("squeue", "--noheader", "--states=all", f"--format={_STATUS}", f"--jobs={','.join(ids)}")

    def parse_status(self, stdout: str, now: float) -> dict[str, Job]:
        """A line is `id|state|nodes|start|limit|reason`."""
        return dict(self._status_line(line) for line in stdout.splitlines() if line.strip())

    def _status_line(self, line: str) -> tuple[str, Job]:
        fields = line.strip().split("|", 5)
        if len(fields) != 6:
            raise ParseFailure(f"'{line.strip()[:80]}' is not a line of squeue")
        identity, word, nodes, start, limit, reason = fields
        return identity, _job(identity, word, nodes, start, limit, reason)

    def history_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Sacct, where the cluster keeps accounts."""
        return (
            "sacct",
            "--noheader",
            "--parsable2",
            "--allocations",
            f"--format={_HISTORY}",
            f"--jobs={','.join(ids)}",
        )

    def parse_history(self, stdout: str) -> dict[str, Job]:
        """A line is `id|state|nodes|start|limit|exit code`; a state may be `CANCELLED by 1000`."""
        found = {}
        for line in stdout.splitlines():
            fields = line.split("|")
            if len(fields) != 6:
                raise ParseFailure(f"'{line[:80]}' is not a line of sacct")
            identity, word, nodes, start, limit, code = fields
            ended = f"exit code {code.partition(':')[0]}" if word == "FAILED" else "None"
            found[identity] = _job(identity, word.partition(" ")[0], nodes, start, limit, ended)
        return found

    def down_argv(self, hosts: Sequence[str]) -> tuple[str, ...]:
        """Sinfo, a name a line."""
        names = ",".join(hosts)
        return ("sinfo", "--noheader", "--Node", f"--nodes={names}", "--states=down", "--format=%N")

    def cancel_argv(self, identity: str) -> tuple[str, ...]:
        """Scancel ends steps and script: SIGTERM, after KillWait SIGKILL."""
        return ("scancel", identity)

    def end_argv(self, identity: str) -> tuple[str, ...]:
        """SIGTERM for the script's shell, whose place the controller has taken; a queued job has none."""
        return ("scancel", "--batch", "--signal=TERM", identity)

    def suspend_argv(self, job: Job) -> tuple[str, ...]:
        """Scontrol: only operators may suspend what runs, users may hold what is queued."""
        return ("scontrol", "hold" if job.state is JobState.QUEUED else "suspend", job.id)

    def resume_argv(self, job: Job) -> tuple[str, ...]:
        """The opposite."""
        return ("scontrol", "release" if job.state is JobState.QUEUED else "resume", job.id)

    def own_job(self, environment: Mapping[str, str]) -> str | None:
        """Set in every process of a job."""
        return environment.get("SLURM_JOB_ID")

    def here(self, environment: Mapping[str, str], hosts: Sequence[str]) -> str | None:
        """Slurm's name of this node, which need not be its host name."""
        own = environment.get("SLURMD_NODENAME")
        return own if own in hosts else None

    def allocated(self, environment: Mapping[str, str], content: str) -> tuple[str, ...]:
        """`n[1-3,7]`."""
        return expand(environment.get("SLURM_JOB_NODELIST", ""))

    def addresses_argv(self, hosts: Sequence[str]) -> tuple[str, ...]:
        """A node's address need not be what its name stands for."""
        return ("scontrol", "--oneliner", "show", "node", ",".join(hosts))

    def parse_addresses(self, stdout: str) -> dict[str, str]:
        """`NodeName=n1 … NodeAddr=10.0.0.1 …`, a line each."""
        return dict(_NODE_ADDRESS.findall(stdout))

    def step(self, host: str, identity: str) -> tuple[str, ...]:
        """A step beside all others on this node; unbuffered, since it carries a protocol."""
        return (
            *("srun", f"--jobid={identity}", f"--nodelist={host}", "--nodes=1", "--ntasks=1", "--overlap"),
            *("--unbuffered", "--input=0", "--mpi=none", "--chdir=/"),
        )


def _job(identity: str, word: str, nodes: str, start: str, limit: str, reason: str) -> Job:
    if word not in _STATES:
        raise ParseFailure(f"job {identity} has the unknown state '{word[:40]}'")
    state = _STATES[word]
    hosts = () if nodes in ("", "(null)", "None assigned") else expand(nodes)
    return Job(identity, state, _reason(state, word, reason), hosts, _instant(start), seconds(limit))


def _reason(state: JobState, word: str, reason: str) -> str:
    if reason == "NodeDown" and state is not JobState.QUEUED:
        return NODE_FAILED  # while it is completing, too
    if word in _TELLING:
        return _TELLING[word]
    if state in (JobState.RUNNING, JobState.DONE, JobState.TIMED_OUT, JobState.CANCELLED):
        return ""
    key = reason.partition(",")[0].strip()
    if key in _REASONS:
        return _REASONS[key] + (f" ({reason})" if key != reason and _REASONS[key] else "")
    for family, sentence in _FAMILIES:
        if family.fullmatch(key):
            return sentence.format(reason)
    return reason


def _instant(text: str) -> float | None:
    """Local time, as Slurm prints it, in seconds of the wall clock."""
    if text in ("N/A", "Unknown", "None", ""):
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError as error:
        raise ParseFailure(f"'{text[:40]}' is not a point in time") from error


def _literal(path: object) -> str:
    r"""Keep sbatch from replacing `%j` and the like in a file's name."""
    return str(path).replace("%", "%%")
