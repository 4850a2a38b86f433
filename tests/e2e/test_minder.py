"""The minder is killed, alone or with its controller: nothing stays, nothing is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import ForkServer, Lab, Started

ATTEMPTS = 10
TREE = """
experiment: tree
workload:
  use: command
  script: |
    if test -e {calm}; then exit 0; fi
    setsid sleep 300 &
    sleep 300
repeat: 2
disturbed: include
seed: 1
"""


def begun(lab: Lab, until: Callable[..., bool]) -> Started:
    """A run in the middle of its first trial, with a tree of processes that all are what they will be.

    A process in the middle of an exec shows no environment: it would be missing from one look and be there in
    the next.
    """
    started = lab.start("run", lab.file(TREE.format(calm=lab.place / "calm")))
    assert until(lambda: lab.runs() and sleepers(lab) == 2)
    return started


def sleepers(lab: Lab) -> int:
    """How many of the run's programs have got as far as sleeping."""
    return sum(lab.proc(pid, "cmdline") == b"sleep\x00300\x00" for pid in lab.bearers(lab.runs()[0].name))


def minder(lab: Lab) -> int:
    """The one whose command line names the run."""
    run = lab.runs()[0].name
    (found,) = (pid for pid in lab.bearers(run) if f"\0{run}:".encode() in lab.proc(pid, "cmdline"))
    return found


def is_completed(lab: Lab, server: ForkServer) -> None:
    """The first run can be resumed."""
    run = lab.runs()[0]
    (lab.place / "calm").touch()
    resumed = server.run(lab, "resume", run.name)
    assert resumed.code == 0, resumed.said
    assert [result[1:3] for result in lab.results(run)] == [(1, "ok"), (2, "ok")]
    assert lab.journal(run)[-1]["state"] == "complete"
    assert not lab.bearers(run.name)
    assert not any((lab.store / "scratch").glob("*"))


def test_without_its_minder_a_run_ends_and_says_so(
    lab: Lab, fork_server: ForkServer, until: Callable[..., bool]
) -> None:
    """It cannot start anything any more: failing all further trials would be a result that is none."""
    started = begun(lab, until)
    os.kill(minder(lab), signal.SIGKILL)
    outcome = started.ended()
    assert outcome.code == 3, outcome.said
    assert "the minder" in outcome.said
    assert outcome.said.count("has died") == 1, outcome.said
    assert f"run {lab.runs()[0].name} failed\n" in outcome.said
    journal = lab.journal()
    assert (journal[-1]["kind"], journal[-1]["state"]) == ("run-ended", "failed")
    assert not lab.results()
    assert not lab.bearers(lab.runs()[0].name)
    is_completed(lab, fork_server)


def orphan_a_tree(lab: Lab, until: Callable[..., bool]) -> Lab:
    """Kill a run's controller and its minder; the lab of a run whose tree has outlived both.

    Every run on this machine sweeps when it begins: where that of another test was faster, another is killed.
    """
    for attempt in range(ATTEMPTS):
        struck = lab.nest(f"attempt-{attempt}")
        started = begun(struck, until)
        run, doomed = struck.runs()[0].name, minder(struck)
        os.kill(doomed, signal.SIGSTOP)  # so that it cannot clean up first
        started.process.kill()
        os.kill(doomed, signal.SIGKILL)
        started.ended()
        assert until(lambda: doomed not in struck.bearers(run))  # noqa: B023 - called at once
        if struck.bearers(run):
            return struck
    raise AssertionError("the tree should have outlived its minder")


@pytest.mark.parametrize("sweeper", ["clean", "run", "resume"])
def test_when_both_are_killed_the_next_command_sweeps(
    sweeper: str, lab: Lab, fork_server: ForkServer, until: Callable[..., bool]
) -> None:
    lab = orphan_a_tree(lab, until)
    run = lab.runs()[0].name
    if sweeper == "run":
        other = fork_server.run(lab, "run", "--repeat", "1", "--store", "other", "--", "true")
        assert other.code == 0, other.said
    elif sweeper == "clean":
        cleaned = fork_server.run(lab, "clean")
        assert cleaned.code == 0, cleaned.said
        assert f"removed {lab.store}/scratch/steelyard-{run}-" in cleaned.said
    if sweeper != "resume":
        assert not lab.bearers(run)
    is_completed(lab, fork_server)


def test_clean_leaves_what_lives_alone(lab: Lab, fork_server: ForkServer, until: Callable[..., bool]) -> None:
    started = begun(lab, until)
    run = lab.runs()[0].name
    before = set(lab.bearers(run))
    cleaned = fork_server.run(lab, "clean")
    assert cleaned.code == 0, cleaned.said
    assert set(lab.bearers(run)) == before
    assert list((lab.store / "scratch").glob(f"steelyard-{run}-*/t1"))
    assert started.process.poll() is None
    busy = fork_server.run(lab, "resume", "last")
    assert busy.code == 3
    assert "is in use by another process" in busy.said
    refused = fork_server.run(lab, "rm", "--yes", "last")
    assert refused.code == 3, refused.said
    assert lab.runs()


def test_clean_says_what_it_cannot_remove(lab: Lab, fork_server: ForkServer) -> None:
    """A directory of the run's name without its marker may hold somebody's data."""
    assert fork_server.run(lab, "run", "--repeat", "1", "--", "true").code == 0
    place = Path(next(line["path"] for line in lab.journal() if line["kind"] == "scratch"))
    place.mkdir(parents=True)
    (place / "data").touch()
    cleaned = fork_server.run(lab, "clean")
    assert cleaned.code == 3
    assert f"kept {place}: Directory not empty" in cleaned.said
    (place / "data").unlink()
    assert fork_server.run(lab, "clean").code == 0
    assert not place.exists()
