"""`use: checkpoint` in whole runs: a directory without space, and kill -9 of the controller in the middle."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from steelyard.hosts.sweep import find_bearers

if TYPE_CHECKING:
    from conftest import ForkServer, Lab

    Mount = Callable[..., AbstractContextManager[Path]]

SAVER = Path(__file__).parents[1] / "workloads" / "checkpoint" / "saver.py"
EXPERIMENT = """
experiment: checkpoint
workload: {use: checkpoint, directory: DIRECTORY, memory: MEMORY, steps: 10}
repeat: 1
disturbed: include
"""
HANGING = f"""
experiment: hanging
workload:
  use: checkpoint
  directory: DIRECTORY
  program:
    run: ["{sys.executable}", "{SAVER}"]
    ready: ready
    save: {{signal: USR1}}
    state_file: state.bin
    restore: [sh, -c, "touch ${{experiment.dir}}/restoring; sleep 1000; :"]
repeat: 1
disturbed: include
"""


def read_trial(lab: Lab) -> dict[str, Any]:
    return [line for line in lab.journal() if line["kind"] == "trial-ended"][-1]


def test_a_run_in_a_directory_leaves_nothing_there(lab: Lab, fork_server: ForkServer) -> None:
    place = lab.place / "elsewhere"
    place.mkdir()
    text = EXPERIMENT.replace("DIRECTORY", str(place)).replace("MEMORY", "2MB")
    outcome = fork_server.run(lab, "run", lab.file(text))
    assert outcome.code == 0, outcome.said
    assert read_trial(lab)["metrics"]["state_size"] == 2_000_052
    assert not any(place.iterdir())


def test_a_directory_without_space_fails_the_trial(lab: Lab, fork_server: ForkServer, mount: Mount) -> None:
    with mount("size=2m") as place:
        text = EXPERIMENT.replace("DIRECTORY", str(place)).replace("MEMORY", "3MB")
        outcome = fork_server.run(lab, "run", lab.file(text))
        trial = read_trial(lab)
        assert (trial["status"], trial["category"]) == ("failed", "disk-full"), outcome.said
        assert "cannot save " in outcome.said
        assert "/state: No space left on device" in outcome.said
        assert "Traceback" not in outcome.said
        assert not any(place.iterdir())


@pytest.mark.parametrize("directory", ["scratch", "elsewhere"])
def test_kill_9_between_save_and_restore_leaves_nothing(
    lab: Lab, until: Callable[..., bool], directory: str
) -> None:
    place = lab.place / "elsewhere"
    place.mkdir()
    where = str(place) if directory == "elsewhere" else directory
    runner = lab.start("run", "-q", lab.file(HANGING.replace("DIRECTORY", where)))
    assert until((lab.place / "restoring").is_file), runner.said()
    run = lab.runs()[-1].name
    assert list(lab.place.rglob("state.bin"))
    runner.process.kill()
    runner.process.wait()
    assert until(lambda: not list(find_bearers(lambda token: token.run == run)))
    assert lab.steelyard("clean").code == 0
    assert not list(lab.place.rglob("state.bin"))
    assert not any(place.iterdir())


RING = """
experiment: ring
parameters: {sockets: [kept, reopened]}
workload: {use: checkpoint, memory: 1MB, copies: 2, ring: {sockets: "${sockets}", messages: 20}}
repeat: 1
disturbed: include
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_units_on_several_hosts_are_saved_at_one_moment(lab: Lab) -> None:
    outcome = lab.steelyard("run", "-q", lab.file(RING), "--site", "netns:2")
    assert outcome.code == 0, outcome.said
    for line in lab.journal():
        if line["kind"] == "trial-ended":
            assert line["metrics"]["state_size"] == 4 * 1_000_052
            assert line["metrics"]["messages"] >= 4 * 40


SWEEP = """
experiment: sweep
parameters:
  memory: [10MB, 50MB, 100MB, 500MB, 1000MB]
  content: [random, zero, half]
where: content == 'random' or memory == '100MB'
workload: {use: checkpoint, memory: "${memory}", content: "${content}"}
repeat: 2
disturbed: include
"""


@pytest.mark.full
def test_the_whole_sweep_of_memory(lab: Lab) -> None:
    outcome = lab.steelyard("run", "-q", lab.file(SWEEP))
    assert outcome.code == 0, outcome.said
    sizes = [line["metrics"]["state_size"] for line in lab.journal() if line["kind"] == "trial-ended"]
    assert sorted(set(sizes)) == [size * 1_000_000 + 52 for size in (10, 50, 100, 500, 1000)]
    assert len(sizes) == 14
