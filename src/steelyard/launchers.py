"""How ranks start on many hosts: pure functions that wrap a command, by name.

A launcher is given the hosts, as it knows them, and how many ranks there are altogether; it spreads them
evenly, the first take one more where that does not go. The wrapped command is started once, on the first
host. A site names its launcher (`launcher: srun`), a workload says how many ranks it wants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from steelyard.errors import UnknownName, UsageError
from steelyard.model.command import Command

Launcher = Callable[[Command, Sequence[str], int], Command]

# Open MPI 4: root may run it, more ranks than cores are no error, and ranks that wait give up their core.
_OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
# Without it, Open MPI 4 starts a daemon for a program without launcher, which outlives it by seconds.
_OPEN_MPI_ALONE = {"OMPI_MCA_ess_singleton_isolated": "1"}


def find_launcher(name: str) -> Launcher:
    """The launcher of that name. Raises UnknownName."""
    table = list_launchers()
    if name not in table:
        raise UnknownName("launcher", name, sorted(table))
    return table[name]


def list_launchers() -> Mapping[str, Launcher]:
    """All launchers by name."""
    return {"blaunch": blaunch, "jsrun": jsrun, "mpirun": mpirun, "pbsdsh": pbsdsh, "srun": srun}


def launch_alone(command: Command) -> Command:
    """Without a launcher, as one process, which may be a parallel program all the same."""
    return replace(command, env={**_OPEN_MPI_ALONE, **command.env})


def mpirun(command: Command, hosts: Sequence[str], ranks: int) -> Command:
    """Open MPI's, by its daemons over SSH or the scheduler; mpirun(1). Values of variables stay unseen."""
    placed = ",".join(f"{host}:{share}" for host, share in spread_ranks(hosts, ranks))
    variables = [word for name in sorted(command.variables) for word in ("-x", name)]
    wrapped = command.wrap("mpirun", "--oversubscribe", "--host", placed, "-n", str(ranks), *variables)
    return replace(wrapped, env={**_OPEN_MPI, **command.env})


def srun(command: Command, hosts: Sequence[str], ranks: int) -> Command:
    """A step of the Slurm job that we are in; srun(1). Its default MPI type is the cluster's (MpiDefault)."""
    used = [host for host, _ in spread_ranks(hosts, ranks)]
    where = (f"--nodes={len(used)}", f"--nodelist={','.join(used)}", f"--ntasks={ranks}")
    wrapped = command.wrap("srun", "--overlap", "--oversubscribe", "--kill-on-bad-exit=1", *where)
    return replace(wrapped, env={**_OPEN_MPI, **command.env})


def jsrun(command: Command, hosts: Sequence[str], ranks: int) -> Command:
    """IBM Spectrum MPI under LSF and JSM: one resource set a host, with all its cores; jsrun(1).

    JSM chooses the hosts, so that `hosts` must be all of the job. Raises UsageError where ranks do not spread
    evenly, which resource sets cannot express.
    """
    if ranks % len(hosts):
        raise UsageError(f"jsrun cannot spread {ranks} ranks over {len(hosts)} hosts; use a multiple")
    sets = ("--nrs", str(len(hosts)), "--rs_per_host", "1", "--cpu_per_rs", "ALL_CPUS")
    return command.wrap("jsrun", *sets, "--tasks_per_rs", str(ranks // len(hosts)))


def blaunch(command: Command, hosts: Sequence[str], ranks: int) -> Command:
    """LSF's own remote shell, one task for each name in its list; blaunch(1). It starts no MPI."""
    named = " ".join(host for host, share in spread_ranks(hosts, ranks) for _ in range(share))
    return command.wrap("blaunch", "-z", named)


def pbsdsh(command: Command, hosts: Sequence[str], ranks: int) -> Command:  # noqa: ARG001 - PBS knows them
    """PBS's own, on the first chunks of the job; pbsdsh(1B). It starts no MPI, and passes no variables.

    Raises UsageError for a command with secrets, which could only stand on the command line.
    """
    if command.secrets:
        raise UsageError("pbsdsh cannot pass a password to ranks; use `launcher: mpirun`")
    variables = [f"{name}={value}" for name, value in sorted(command.env.items())]
    return command.wrap("pbsdsh", "-c", str(ranks), "--", *(("env", *variables) if variables else ()))


def spread_ranks(hosts: Sequence[str], ranks: int) -> list[tuple[str, int]]:
    """Each host with how many of the ranks it takes; hosts that take none are left out."""
    least, more = divmod(ranks, len(hosts))
    counts: dict[str, int] = {}
    for place, host in enumerate(hosts):  # one that is named twice is one machine that plays two hosts
        counts[host] = counts.get(host, 0) + least + (place < more)
    return [(host, share) for host, share in counts.items() if share]
