"""A real HTCondor pool of one host, of Debian's packages, in namespaces of its own.

A personal pool: all of it belongs to one user, as which whoever runs the tests appears there.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from patience import until
from steelyard.hosts.minder.processes import read_proc
from steelyard.sites.htcondor import Htcondor

REPOSITORY = Path(__file__).resolve().parents[2]
SUITE = "trixie"  # Debian has HTCondor in this one only
USERS = "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/tmp:/bin/sh\n"
GROUPS = "root:x:0:\nalice:x:1000:\n"
CONFIGURATION = """
RELEASE_DIR = /usr
BIN = /usr/bin
SBIN = /usr/sbin
LIB = /usr/lib/condor
LIBEXEC = /usr/libexec/condor
LOCAL_DIR = {place}
use ROLE: CentralManager
use ROLE: Submit
use ROLE: Execute
use POLICY: ALWAYS_RUN_JOBS
use FEATURE: PartitionableSlot
CONDOR_HOST = 127.0.0.1
NETWORK_INTERFACE = 127.0.0.1
BIND_ALL_INTERFACES = False
UID_DOMAIN = condor1
FILESYSTEM_DOMAIN = condor1
SEC_DEFAULT_AUTHENTICATION_METHODS = FS
ALLOW_READ = *
ALLOW_WRITE = *
ALLOW_DAEMON = *
ALLOW_NEGOTIATOR = *
ALLOW_ADMINISTRATOR = *
NEGOTIATOR_CYCLE_DELAY = 1
NEGOTIATOR_INTERVAL = 1
NEGOTIATOR_MIN_INTERVAL = 1
SCHEDD_INTERVAL = 1
SCHEDD_MIN_INTERVAL = 1
UPDATE_INTERVAL = 2
STARTER_UPDATE_INTERVAL = 1
SHADOW_QUEUE_UPDATE_INTERVAL = 1
PERIODIC_EXPR_INTERVAL = 1
BASE_CGROUP =
RUNBENCHMARKS = 0
NUM_CPUS = 4
"""


def running_htcondor(place: Path, shared: Path) -> Iterator[Path]:
    """A directory of commands that talk to it, for PATH; `shared` is what its jobs see of this machine.

    Skips where it cannot be made.
    """
    if lacking := [name for name in ("mmdebstrap", "bwrap", "nsenter") if not shutil.which(name)]:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    root, local = place / "root", place / "local"
    made = subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", "--include=minicondor", SUITE, str(root)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    _configure(local)
    with (place / "log").open("wb") as out:
        holder = subprocess.Popen(
            _enclose(root, local, shared), stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True,
        )  # fmt: skip
    try:
        pool = _find_pool(holder)
        commands = _make_commands(place / "commands", pool, local)
        assert until(lambda: _is_ready(commands) or holder.poll() is not None), (place / "log").read_text()
        yield commands
    finally:
        os.killpg(holder.pid, signal.SIGKILL)  # and with it all of its namespace
        holder.wait()
        shutil.rmtree(root, ignore_errors=True)


def _configure(local: Path) -> None:
    for name in ("log", "spool", "execute", "lock", "run"):
        (local / name).mkdir(parents=True)
    (local / "condor_config").write_text(CONFIGURATION.format(place=local))
    (local / "passwd").write_text(USERS)
    (local / "group").write_text(GROUPS)
    (local / "hosts").write_text("127.0.0.1 condor1 localhost\n")


def _enclose(root: Path, local: Path, shared: Path) -> list[str]:
    """Its own root, in which this machine's Python and the program under test have their usual places."""
    here = [word for path in (sys.base_prefix, str(REPOSITORY)) for word in ("--ro-bind", path, path)]
    etc = [
        word
        for name in ("passwd", "group", "hosts")
        for word in ("--ro-bind", str(local / name), f"/etc/{name}")
    ]
    mine = [word for path in (shared, local) for word in ("--bind", str(path), str(path))]
    configuration = str(local / "condor_config")
    return [
        "bwrap", "--bind", str(root), "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
        "--tmpfs", "/run", *etc, *here, *mine, "--unshare-all", "--uid", "1000", "--gid", "1000",
        "--hostname", "condor1", "--die-with-parent", "--as-pid-1", "--setenv",
        "CONDOR_CONFIG", configuration, "--", "condor_master", "-f",
    ]  # fmt: skip


def _find_pool(holder: subprocess.Popen[bytes]) -> int:
    """The first process inside, whose number here only its parent tells; others come before it and go."""
    assert until(lambda: _list_masters(holder.pid) or holder.poll() is not None)
    return _list_masters(holder.pid)[0]


def _list_masters(parent: int) -> list[int]:
    children = map(int, read_proc(f"/proc/{parent}/task/{parent}/children").split())
    return [pid for pid in children if read_proc(f"/proc/{pid}/comm") == b"condor_master\n"]


def _is_ready(commands: Path) -> bool:
    """Whether its host has reported, and its queue answers."""
    asked = [[str(commands / "condor_status"), "-af", "Name"], [str(commands / "condor_q"), "-json"]]
    told = [subprocess.run(words, capture_output=True, text=True, check=False) for words in asked]
    return "slot1@" in told[0].stdout and told[1].returncode == 0


def _make_commands(programs: Path, pool: int, local: Path) -> Path:
    """Wrappers that enter the namespaces, where alone the pool is reached; `inside` runs anything there."""
    programs.mkdir()
    configuration = f"env CONDOR_CONFIG={local}/condor_config"
    enter = f"nsenter -t {pool} --preserve-credentials -U -n -m -p -u -i -- {configuration}"
    for name in (*Htcondor.needs, "condor_status", "inside"):
        wrapper = programs / name
        program = "" if name == "inside" else f"/usr/bin/{name}"  # not this wrapper, first on PATH there, too
        wrapper.write_text(f'#!/bin/sh\nexec {enter} {program} "$@"\n')
        wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    return programs


@pytest.fixture(scope="session")
def htcondor_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the commands of a pool lie that all tests of a session share."""
    yield from running_htcondor(tmp_path_factory.mktemp("htcondor"), tmp_path_factory.getbasetemp())
