"""Hosts that PBS allocates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

from steelyard.plugin.ssh import SshTransport
from steelyard.plugin.transport import Login, Transport
from steelyard.sites.kit.batch.job import Job, JobRequest, JobState
from steelyard.sites.kit.batch.nodes import check_hosts, format_clock
from steelyard.sites.kit.batch.options import BatchOptions
from steelyard.sites.kit.batch.scheduler import Scheduler, select_options
from steelyard.sites.kit.batch.script import make_warning
from steelyard.sites.kit.batch.site import BatchSite
from steelyard.sites.pbs.jobs import parse_jobs


class PbsOptions(BatchOptions):
    """What PBS can be told besides."""

    cores: int = Field(
        1, ge=1, description="Cores of each host; with `exclusive`, the job gets the entire host."
    )


class PbsScheduler(Scheduler[PbsOptions]):
    """The commands of PBS, and what they print."""

    title = "PBS"
    env_filter_prefixes = ("PBS_",)
    env_filter_exceptions = ("PBS_CONF_FILE", "PBS_SERVER", "PBS_DEFAULT", "PBS_EXEC", "PBS_HOME")
    # `17.server`; `17[].server` for a job array.
    job_id_pattern = re.compile(r"^(\d+(?:\[\])?\.[A-Za-z0-9._-]+)$", re.MULTILINE)
    unknown_job_pattern = re.compile(r"Unknown Job Id|Job has finished|Job \S+ has finished", re.I)
    unreachable_pattern = re.compile(
        r"cannot connect to server|Connection refused|No route to host|errno=1503[134]"
    )

    def submit_argv(self, request: JobRequest) -> tuple[str, ...]:
        """Qsub reads the script from standard input; `-C ""` keeps it from looking for directives there."""
        place = "scatter:exclhost" if request.exclusive else "scatter"
        queue = request.reservation or request.partition
        return (
            *("qsub", "-C", "", "-N", request.name, "-S", self._interpreter()),
            *("-l", f"select={request.hosts}:ncpus={self.options.cores}", "-l", f"place={place}"),
            *("-l", f"walltime={format_clock(request.seconds)}"),
            *("-j", "oe", "-o", str(request.output), "-r", "n"),
            *(("-l", f"qos={request.qos}") if request.qos else ()),
            *(("-q", queue) if queue else ()),
            *select_options(request, account="-A"),
            *request.extra_options,
        )

    def _interpreter(self) -> str:
        """PBS does not look at the first line of a script."""
        return self.options.shell.partition(" ")[0] or ("/bin/bash" if self.options.setup else "/bin/sh")

    def script_prelude(self, request: JobRequest) -> tuple[str, ...]:
        """PBS ends the job's whole session."""
        return make_warning(request)

    def status_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """One qstat. It says of finished jobs only that they have finished."""
        return ("qstat", "-f", *ids)

    def parse_status(self, stdout: str, now: float) -> dict[str, Job]:
        """A block for each job, with its attributes by name; nothing when it found none."""
        return parse_jobs(stdout)

    def history_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """A call of its own: with `-x`, servers that keep no history (by default) tell of no job at all."""
        return ("qstat", "-x", "-f", *ids)

    def parse_history(self, stdout: str) -> dict[str, Job]:
        """As `parse_status`."""
        return parse_jobs(stdout)

    def cancel_argv(self, identity: str) -> tuple[str, ...]:
        """SIGTERM, and SIGKILL after the server's kill_delay."""
        return ("qdel", identity)

    def suspend_argv(self, job: Job) -> tuple[str, ...]:
        """Only operators may suspend what runs; users may hold what is queued."""
        return ("qhold", job.id) if job.state is JobState.QUEUED else ("qsig", "-s", "suspend", job.id)

    def resume_argv(self, job: Job) -> tuple[str, ...]:
        """The opposite."""
        return ("qrls", job.id) if job.state is JobState.QUEUED else ("qsig", "-s", "resume", job.id)

    def own_job(self, environment: Mapping[str, str]) -> str | None:
        """Set in the job's script and all that it starts; Grid Engine does not set it."""
        return environment.get("PBS_JOBID")

    def host_file(self, environment: Mapping[str, str]) -> Path | None:
        """A line for each MPI process of each chunk."""
        named = environment.get("PBS_NODEFILE")
        return Path(named) if named else None

    def parse_hosts(self, environment: Mapping[str, str], content: str) -> tuple[str, ...]:
        """Each host once."""
        return check_hosts(content.split(), content)

    def transport(self, job: str, name: str, address: str) -> Transport:
        """By SSH, which PBS sites allow to the nodes of one's own job."""
        return SshTransport(name, Login(name), address=address)


class Pbs(BatchSite[PbsOptions]):
    """Hosts of a PBS Professional or OpenPBS job, version 14 or newer.

    `--site pbs:4` submits one job with a chunk on each of four hosts. Steelyard must be installed where all
    hosts can access it, and the store must be on a file system that they share. Other qsub options go in
    `options`. Remote hosts are reached by SSH, because PBS's own pbsdsh and pbs_tmrsh do not pass standard
    input. PBS gives no warning before the time limit, so the job script sends SIGUSR1 itself.

    Steelyard reads qstat's text output, because its JSON is invalid in some versions, depending on the values
    of variables (openpbs issues 830, 1255, 2541), and from 23.06 on may contain only the first of several
    jobs (2672). Commands and parsers follow OpenPBS's source and recorded output; they have not been tested
    with a real server.
    """

    Options = PbsOptions
    needs = ("qsub", "qstat", "qdel", "qsig", "qhold", "qrls")
    scheduler_class = PbsScheduler
