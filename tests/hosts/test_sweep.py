from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from accounts import Account
from steelyard.hosts.lease import Lease
from steelyard.hosts.minder import TOKEN_VARIABLE
from steelyard.hosts.sweep import Bearer, _send, end_bearers, find_bearers, sweep
from steelyard.hosts.unused.accounts import RANGES

if TYPE_CHECKING:
    from conftest import Run

TREE = ["sh", "-c", "trap '' TERM; sleep 300 & (setsid sleep 300 &); sleep 300"]


def test_what_outlived_controller_and_minder_is_swept(run: Run) -> None:
    controller = run.controller(json.dumps([TREE, TREE]))
    assert run.until(lambda: run.settled(sleeping=6, others=2))
    assert sweep(run=run.id) == 0  # its controller lives
    (minder,) = run.minders()
    os.kill(minder, signal.SIGSTOP)
    controller.kill()
    controller.wait()
    os.kill(minder, signal.SIGKILL)
    # From here on any other sweep on this machine may find them first.
    assert sweep(run="another-run") == 0
    assert sweep(run=run.id) <= 8
    assert run.all_gone(seconds=0)


def test_a_sweep_counts_what_it_ends(run: Run) -> None:
    run.popen(*TREE, env={**os.environ, TOKEN_VARIABLE: str(run.token)})
    assert run.until(lambda: run.settled(sleeping=3, others=1))
    assert end_bearers(lambda token: token.run == run.id) == 4
    assert not run.bearers()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a program as another user")
def test_root_also_sweeps_servers_that_run_as_users_of_their_own(run: Run) -> None:
    uid = RANGES[0][0]
    become = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    run.popen(*become, "sleep", "300", env={**os.environ, TOKEN_VARIABLE: str(run.token)})
    assert run.until(lambda: len(run.bearers()) == 1)
    assert end_bearers(lambda token: token.run == run.id) == 1
    assert not run.bearers()


def test_an_account_sweeps_nobody_elses_processes(run: Run, alice: Account, mallory: Account) -> None:
    """Whatever token they bear: who forks faster than we look would hold up every sweep."""
    theirs = mallory.start("sleep", "300", env={TOKEN_VARIABLE: str(run.token)})
    place = Path(f"/proc/{theirs.pid}/comm")
    assert run.until(lambda: place.read_text() == "sleep\n")
    assert end_bearers(lambda token: token == run.token) == 0, "not by root, either"
    code = "from steelyard.hosts.sweep import end_bearers; print(end_bearers(lambda token: True))"
    said = alice.run(*alice.python, "-c", code)
    assert (said.stdout, said.returncode) == ("0\n", 0), said.stderr
    assert theirs.poll() is None
    theirs.kill()
    theirs.wait()


def test_a_sweep_leaves_living_runs_alone(run: Run) -> None:
    async def story() -> None:
        async with Lease.open(run.token) as lease:
            for _ in range(2):
                await lease.start(TREE, env=os.environ, cwd="/", stdout=os.devnull, stderr=os.devnull)
            assert run.until(lambda: run.settled(sleeping=6, others=2))
            before = run.bearers()
            sweep()
            assert run.bearers() == before

    asyncio.run(story())


def test_a_sweep_never_ends_itself_nor_one_above_it(run: Run) -> None:
    program = (
        "import subprocess, sys; from steelyard.hosts.sweep import end_bearers; "
        "subprocess.Popen(['sleep', '300']); print(end_bearers(lambda token: token.run == sys.argv[1]))"
    )
    done = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" "$2"; echo still here', sys.executable, program, run.id],
        env={**os.environ, TOKEN_VARIABLE: str(run.token)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1\nstill here\n"


def test_a_pid_that_another_process_got_is_never_signalled(run: Run) -> None:
    child = run.popen("sleep", "300", env={TOKEN_VARIABLE: str(run.token)})
    assert run.until(lambda: run.settled(sleeping=1))
    (found,) = run.bearers()
    assert found == Bearer(child.pid, found.start_time, run.token)
    assert not _send(replace(found, start_time=found.start_time - 1), signal.SIGKILL)
    assert child.poll() is None
    assert _send(found, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL


def test_strangers_tokens_are_passed_over(run: Run) -> None:
    child = run.popen("sleep", "300", env={TOKEN_VARIABLE: f"{run.id}:who:knows"})
    environ = Path(f"/proc/{child.pid}/environ")
    assert run.until(lambda: run.id.encode() in environ.read_bytes())
    assert child.pid not in [bearer.pid for bearer in find_bearers(lambda _: True)]
    assert end_bearers(lambda token: token.run == run.id) == 0
    assert child.poll() is None
