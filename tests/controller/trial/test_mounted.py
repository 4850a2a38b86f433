"""Workloads in file systems that services bring, in real runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard import api

Measure = Callable[..., api.Run]
TMPFS = {"files": {"use": "tmpfs", "size": "8MiB"}}
pytestmark = [
    pytest.mark.skipif(not shutil.which("nsenter"), reason="nsenter is not installed"),
    pytest.mark.usefixtures("emptied_scratch"),
]


def read_stdout(run: api.Run, trial: int = 1, phase: str = "run") -> str:
    return (run.record.folder.phase(trial, "host-0", phase) / "stdout").read_text()


def categories(run: api.Run) -> list[str]:
    return [trial.result.category or trial.result.status for trial in run.record.trials]


def test_a_workload_works_in_the_file_system_of_the_service(measure: Measure) -> None:
    run = measure(
        "stat -f -c %T .; pwd; touch of-this-trial; ls",
        options={"directory": "files"},
        services=TMPFS,
        repeat=2,
    )
    assert categories(run) == ["ok", "ok"]
    for trial in (1, 2):
        kind, place, *names = read_stdout(run, trial).splitlines()
        assert kind == "tmpfs"
        assert place.endswith(f"/service-files/mnt/host-0-t{trial}")
        assert names == ["of-this-trial"], "each trial has a directory of its own"


def test_what_a_trial_leaves_is_removed_unless_it_is_to_be_kept(measure: Measure) -> None:
    script = "ls ..; ls; touch left"
    fresh = measure(script, options={"directory": "files"}, services=TMPFS, repeat=2)
    assert read_stdout(fresh, 2) == "host-0-t2\n"
    kept = measure(script, options={"directory": "files"}, services=TMPFS, repeat=2, reset="keep")
    assert read_stdout(kept, 2).splitlines()[1:] == ["left"]


def test_results_are_read_from_there(measure: Measure) -> None:
    metrics = {"rate": {"json": "rate", "from": "r.json"}}
    run = measure(
        "echo '{\"rate\": 5}' > r.json", options={"directory": "files", "metrics": metrics}, services=TMPFS
    )
    assert run.record.trials[0].result.metrics["rate"] == 5.0


def test_the_service_is_a_level_and_the_directory_too(measure: Measure) -> None:
    run = measure(
        "stat -f -c %T . | tee type",
        options={"directory": "${place}"},
        parameters={"place": ["scratch", "files"], "kind": ["tmpfs", "directory"]},
        services={"files": {"use": "${kind}"}},
    )
    assert categories(run) == ["ok"] * 4
    trials = run.record.trials
    kinds = {trial.result.trial.cell.key: read_stdout(run, trial.number).strip() for trial in trials}
    assert kinds["place=files kind=tmpfs"] == "tmpfs"
    assert kinds["place=files kind=directory"] == kinds["place=scratch kind=directory"]


def test_a_full_file_system_fails_the_trial(measure: Measure) -> None:
    script = "head -c 16M /dev/zero > big"
    run = measure(script, options={"directory": "files"}, services=TMPFS)
    assert categories(run) == ["disk-full"]
    assert "No space left on device" in run.record.trials[0].message


def test_a_mount_that_vanishes_fails_the_trial_and_comes_back_for_the_next(
    measure: Measure, own_place: Path
) -> None:
    script = f"""
[ -e {own_place}/done ] && exit 0
touch {own_place}/done
here=$(readlink /proc/self/ns/mnt)
for each in /proc/[0-9]*; do
    [ "$(readlink $each/ns/mnt)" = "$here" ] && grep -q "^sleep" $each/comm && kill -9 ${{each#/proc/}}
done
sleep 600
"""
    run = measure(script, options={"directory": "files"}, services=TMPFS, repeat=2)
    assert categories(run) == ["service-failed", "ok"]
    assert "service files: mount on local (127.0.0.1) ended by signal 9" in run.record.trials[0].message


@pytest.mark.skipif(not shutil.which("mpirun"), reason="mpirun is not installed")
def test_ranks_of_one_host_share_it_and_those_of_several_are_refused(measure: Measure) -> None:
    options: dict[str, Any] = {"directory": "files", "ranks": 2}
    run = measure("stat -f -c %T .", options=options, services=TMPFS)
    assert read_stdout(run) == "tmpfs\ntmpfs\n"
    several = measure(
        "true",
        options={**options, "on": "worker"},
        services={"files": {**TMPFS["files"], "on": "worker"}},
        roles={"worker": 2},
        site="local:2",
    )
    assert categories(several) == ["service-failed"]
    assert "ranks of several hosts cannot use it" in several.record.trials[0].message


@pytest.mark.skipif(os.geteuid() != 0, reason="caches are dropped by root")
def test_preparation_happens_there(measure: Measure) -> None:
    run = measure(
        "true",
        options={"directory": "files"},
        services=TMPFS,
        before_each=[{"precondition": "16MiB"}],
    )
    assert categories(run) == ["disk-full"], "the service's 8 MiB, not the disk's, are filled"
