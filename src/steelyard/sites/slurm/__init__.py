"""Hosts that Slurm allocates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from steelyard.plugin.transport import PipedTransport, Transport
from steelyard.sites.kit.batch.job import Job, JobRequest, JobState
from steelyard.sites.kit.batch.nodes import expand
from steelyard.sites.kit.batch.options import BatchOptions
from steelyard.sites.kit.batch.scheduler import Scheduler
from steelyard.sites.kit.batch.site import BatchSite
from steelyard.sites.slurm.jobs import SACCT_FORMAT, SQUEUE_FORMAT, parse_sacct, parse_squeue

_UNFINISHED = "PD,CF,R,S,ST,CG"
_NODE_ADDRESS = re.compile(r"NodeName=(\S+).*? NodeAddr=(\S+)")


class SlurmScheduler(Scheduler[BatchOptions]):
    """Slurm's commands, and what they print."""

    title = "Slurm"
    env_filter_prefixes = ("SLURM_", "SQUEUE_", "SINFO_", "SCANCEL_", "SACCT_")
    env_filter_exceptions = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT")
    job_id_pattern = re.compile(r"^(\d+)(?:;\S+)?\Z")  # `17;cluster` where there are several
    unknown_job_pattern = re.compile(r"Invalid job id|Job/step already completing or completed")
    unreachable_pattern = re.compile(
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
            f"--output={_escape_percent(request.output)}",
            "--open-mode=append",
            f"--chdir={request.working_directory}",
            *((f"--signal=B:USR1@{request.warning}",) if request.warning else ()),
            "--no-requeue",
            *(("--exclusive",) if request.exclusive else ()),
            *(f"--{name}={value}" for name, value in named if value),
            *request.extra_options,
        )

    def status_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """One squeue, finished jobs included; Slurm forgets these after MinJobAge, 5 minutes."""
        return (
            "squeue",
            "--noheader",
            "--states=all",
            f"--format={SQUEUE_FORMAT}",
            f"--jobs={','.join(ids)}",
        )

    def parse_status(self, stdout: str, now: float) -> dict[str, Job]:
        """A line for each job."""
        return parse_squeue(stdout)

    def history_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Sacct, where the cluster keeps accounts."""
        return (
            "sacct",
            "--noheader",
            "--parsable2",
            "--allocations",
            f"--format={SACCT_FORMAT}",
            f"--jobs={','.join(ids)}",
        )

    def parse_history(self, stdout: str) -> dict[str, Job]:
        """A line for each job."""
        return parse_sacct(stdout)

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

    def unfinished_argv(self, name: str) -> tuple[str, ...]:
        """Squeue; without the states, a variable could leave some out."""
        return ("squeue", "--me", "--noheader", f"--name={name}", f"--states={_UNFINISHED}", "--format=%i")

    def cancel_named_argv(self, name: str) -> tuple[str, ...]:
        """Scancel, which says nothing where there are none."""
        return ("scancel", f"--name={name}")

    def own_job(self, environment: Mapping[str, str]) -> str | None:
        """Set in every process of a job."""
        return environment.get("SLURM_JOB_ID")

    def own_host(self, environment: Mapping[str, str], hosts: Sequence[str]) -> str | None:
        """Slurm's name of this node, which need not be its host name."""
        own = environment.get("SLURMD_NODENAME")
        return own if own in hosts else None

    def parse_hosts(self, environment: Mapping[str, str], content: str) -> tuple[str, ...]:
        """`n[1-3,7]`."""
        return expand(environment.get("SLURM_JOB_NODELIST", ""))

    def addresses_argv(self, hosts: Sequence[str]) -> tuple[str, ...]:
        """A node's address need not be what its name stands for."""
        return ("scontrol", "--oneliner", "show", "node", ",".join(hosts))

    def parse_addresses(self, stdout: str) -> dict[str, str]:
        """`NodeName=n1 … NodeAddr=10.0.0.1 …`, a line each."""
        return dict(_NODE_ADDRESS.findall(stdout))

    def transport(self, job: str, name: str, address: str) -> Transport:
        """A step beside all others on this node; unbuffered, since it carries a protocol."""
        step = (
            *("srun", f"--jobid={job}", f"--nodelist={name}", "--nodes=1", "--ntasks=1", "--overlap"),
            *("--unbuffered", "--input=0", "--mpi=none", "--chdir=/"),
        )
        return PipedTransport(name, address, step)


class Slurm(BatchSite[BatchOptions]):
    """Hosts of a Slurm job, version 20.11 or newer (`srun --overlap`).

    `--site slurm:4` submits one job with four nodes. Steelyard must be installed where all nodes can access
    it, and the store must be on a file system that they share. Other sbatch options go in `options`. Steps
    are started by `srun`. Slurm sends the job SIGUSR1 before its time limit, and ends it when one of its
    nodes is down (after SlurmdTimeout, 5 minutes by default). `--no-kill` is not used: a job that loses its
    first node would hold the other nodes unused until its time limit.
    """

    needs = ("sbatch", "squeue", "scancel", "scontrol", "srun")
    covers = ("C4S.18", "C4S.26")
    scheduler_class = SlurmScheduler


def _escape_percent(path: object) -> str:
    r"""Keep sbatch from replacing `%j` and the like in a file's name."""
    return str(path).replace("%", "%%")
