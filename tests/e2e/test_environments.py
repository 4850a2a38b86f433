"""A run in a container that is killed with its controller: nothing is left of it, and the run goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from steelyard.hosts.sweep import find_bearers
from steelyard.plugins import builtin_names
from steelyard.spec.conditions import environment_class
from steelyard.testing.contract.environments import make_image

if TYPE_CHECKING:
    from conftest import Lab

EXPERIMENT = """\
experiment: boxed
workload:
  use: command
  script: |
    echo began >> ${experiment.dir}/diary
    while [ ! -e ${experiment.dir}/gate ]; do sleep 0.05; done
    cat /mark
  wrap: {in: NAME, image: IMAGE}
repeat: 2
disturbed: include
"""


def lists_as_left(name: str) -> str:
    """What is there of runs of ours for the program that makes an environment."""
    listing = environment_class(name)(name).list_left()
    if listing is None:
        return ""
    return subprocess.run(listing.argv, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", sorted(builtin_names("environments")))
def test_nothing_is_left_when_the_controller_is_killed_and_it_is_resumed(
    lab: Lab, until, tmp_path: Path, name: str
) -> None:
    for tool in environment_class(name).needs:
        if not shutil.which(tool.name):
            pytest.skip(f"{tool.name} is not installed")
    image, diary = make_image(tmp_path / "image"), lab.place / "diary"
    text = EXPERIMENT.replace("NAME", name).replace("IMAGE", str(image))
    runner = lab.start("run", "-q", lab.file(text))
    assert until(diary.is_file), runner.said()
    run = Path(lab.steelyard("list").said.split()[0]).name
    runner.process.kill()
    runner.process.wait()
    assert until(lambda: not list(find_bearers(lambda token: token.run == run)))
    assert lab.steelyard("clean").code == 0
    assert run not in lists_as_left(name)
    assert str(image) not in Path("/proc/mounts").read_text()
    (lab.place / "gate").touch()
    resumed = lab.steelyard("resume", "-q", "last")
    assert resumed.code == 0, resumed.said
    assert len(lab.results()) == 2
    assert diary.read_text().splitlines() == ["began"] * 3
    assert run not in lists_as_left(name)


@pytest.mark.parametrize("name", sorted(builtin_names("environments")))
def test_a_program_that_the_image_lacks_is_named(lab: Lab, tmp_path: Path, name: str) -> None:
    for tool in environment_class(name).needs:
        if not shutil.which(tool.name):
            pytest.skip(f"{tool.name} is not installed")
    image = make_image(tmp_path / "image")
    workload = f"{{use: command, run: [nowhere, x], wrap: {{in: {name}, image: {image}}}}}"
    ended = lab.steelyard("run", "-q", lab.file(f"experiment: x\nworkload: {workload}\nrepeat: 1\n"))
    assert ended.code == 3
    assert "tool-missing" in ended.said
    assert f"nowhere is not in image {image} (in: {name})" in ended.said


SERVED = """\
experiment: served
services: {kv: {use: redis, on: host, wrap: WRAP}}
workload: {use: redis_benchmark, to: kv, requests: 100}
repeat: 1
disturbed: include
"""


@pytest.mark.parametrize("name", ["bubblewrap", "gvisor"])
def test_a_server_runs_inside_also_where_it_gives_up_root(
    lab: Lab, enterable_scratch: Path, name: str
) -> None:
    for tool in ("redis-server", *(tool.name for tool in environment_class(name).needs)):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    ended = lab.steelyard("run", "-q", lab.file(SERVED.replace("WRAP", f"{{in: {name}}}")))
    assert ended.code == 0, ended.said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has itself to give up")
def test_a_server_that_gives_up_root_is_refused_where_there_is_one_account(
    lab: Lab, enterable_scratch: Path, tmp_path: Path
) -> None:
    image = make_image(tmp_path / "image")
    text = SERVED.replace("WRAP", f"{{in: charliecloud, image: {image}}}")
    ended = lab.steelyard("run", "-q", lab.file(text))
    assert ended.code == 3
    assert (
        "in: charliecloud has one account, and this server gives up root: say `in: bubblewrap`" in ended.said
    )
