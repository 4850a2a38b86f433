"""A run on guests whose controller is killed: nothing of them is left, and the run goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from steelyard.hosts.sweep import find_bearers

if TYPE_CHECKING:
    from conftest import Lab

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="guests need root"),
    pytest.mark.skipif(not shutil.which("linux.uml"), reason="user-mode-linux is not installed"),
    pytest.mark.skipif(not Path("/usr/sbin/sshd").exists(), reason="no sshd is installed"),
]
EXPERIMENT = """\
experiment: guests
roles: {node: 2}
workload:
  use: command
  on: node
  script: |
    : > PLACE/$(uname -n).up
    while [ ! -e PLACE/gate ]; do sleep 0.2; done
repeat: 2
disturbed: include
telemetry: off
"""


def list_taps() -> list[str]:
    """Programs that run a guest of any run of ours."""
    said = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if line.startswith("linux.uml") and "transport=tap" in line]


def test_nothing_is_left_when_the_controller_is_killed_and_it_is_resumed(lab: Lab, until) -> None:
    before = set(list_taps())
    file = lab.file(EXPERIMENT.replace("PLACE", str(lab.place)))
    runner = lab.start("run", "-q", file, "--site", "guests:2")
    assert until(lambda: {path.name for path in lab.place.glob("*.up")} == {"n1.up", "n2.up"}), runner.said()
    run = Path(lab.steelyard("list").said.split()[0]).name
    runner.process.kill()
    runner.process.wait()
    assert until(lambda: not list(find_bearers(lambda token: token.run == run)))
    assert until(lambda: not set(list_taps()) - before)
    (lab.place / "gate").touch()
    resumed = lab.steelyard("resume", "-q", "last")
    assert resumed.code == 0, resumed.said
    assert len(lab.results()) == 2
    assert not set(list_taps()) - before
