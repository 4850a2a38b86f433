"""A run on guests whose controller is killed: nothing of them is left, and the run goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from guests import needs_qemu
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


def list_guests(lab: Lab, name: str = "") -> list[str]:
    """The states (see ps(1)) of what runs a guest of this name, or any: its disk is in the store."""
    said = subprocess.run(["ps", "-wweo", "stat,args"], capture_output=True, text=True, check=True).stdout
    lines = (line.split(None, 1) for line in said.splitlines())
    ours = (one for one in lines if one[1].startswith("linux.uml") and f"ubd0={lab.place}/" in one[1])
    return [state[0] for state, words in ours if f"ifname={name}" in words]


def test_nothing_is_left_when_the_controller_is_killed_and_it_is_resumed(lab: Lab, until) -> None:
    file = lab.file(EXPERIMENT.replace("PLACE", str(lab.place)))
    runner = lab.start("run", "-q", file, "--site", "guests:2")
    assert until(lambda: {path.name for path in lab.place.glob("*.up")} == {"n1.up", "n2.up"}), runner.said()
    run = Path(lab.steelyard("list").said.split()[0]).name
    runner.process.kill()
    runner.process.wait()
    assert until(lambda: not list(find_bearers(lambda token: token.run == run)))
    assert until(lambda: not list_guests(lab))
    (lab.place / "gate").touch()
    resumed = lab.steelyard("resume", "-q", "last")
    assert resumed.code == 0, resumed.said
    assert len(lab.results()) == 2
    assert not list_guests(lab)


DISTURBED = """\
experiment: guests
roles: {node: 2}
workload:
  use: command
  on: WHERE
  script: |
    : > PLACE/$(uname -n).up
    while [ ! -e PLACE/gate ]; do sleep 0.2; done
timeline: [{do: EVENT, on: "node[1]"}]
repeat: 2
disturbed: include
telemetry: off
"""


@pytest.mark.parametrize("event", ["kill_host", "pause_host"])
def test_nothing_is_left_of_a_guest_that_an_event_has_disturbed(lab: Lab, until, event: str) -> None:
    text = DISTURBED.replace("PLACE", str(lab.place)).replace("WHERE", '"node[0]"').replace("EVENT", event)
    runner = lab.start("run", "-q", lab.file(text), "--site", "guests:2", "--beside")
    began = lambda: lab.runs() and any(line["kind"] == "event-began" for line in lab.journal())  # noqa: E731
    assert until(began), runner.said()
    happened = {
        "pause_host": lambda: "T" in list_guests(lab, "n2"),
        "kill_host": lambda: not list_guests(lab, "n2"),
    }
    assert until(happened[event]), runner.said()
    assert list_guests(lab, "n1"), "the other guest lives"
    run = lab.runs()[-1]
    runner.process.kill()
    runner.process.wait()
    assert until(lambda: not list(find_bearers(lambda token: token.run == run.name)))
    assert until(lambda: not list_guests(lab))
    assert until(lambda: not list(run.glob("disks-*")))


@pytest.mark.full  # guests of QEMU that are emulated take a while to boot
@needs_qemu
def test_nothing_is_left_of_a_guest_that_was_saved_when_its_controller_is_killed(lab: Lab, until) -> None:
    text = DISTURBED.replace("PLACE", str(lab.place)).replace("WHERE", '"node[0]"')
    text = text.replace("{do: EVENT,", "{do: checkpoint_host, length: 50s,")
    runner = lab.start("run", "-q", lab.file(text), "--site", "guests:2:qemu", "--beside")
    assert until(lambda: lab.runs() and list(lab.runs()[-1].glob("disks-*/n2.state"))), runner.said()
    run = lab.runs()[-1]
    runner.process.kill()
    runner.process.wait()
    assert until(lambda: not list(find_bearers(lambda token: token.run == run.name)))
    assert until(lambda: not list(run.glob("disks-*")))
    assert str(run) not in Path("/proc/mounts").read_text()


def test_a_copy_on_a_killed_guest_fails_its_trial_and_the_run_goes_on(lab: Lab) -> None:
    text = DISTURBED.replace("PLACE", str(lab.place)).replace("WHERE", "node").replace("EVENT", "kill_host")
    done = lab.steelyard("run", "-q", lab.file(text), "--site", "guests:2", "--beside")
    ends = [line for line in lab.journal() if line["kind"] == "trial-ended"]
    assert [line["category"] for line in ends] == ["host-failed"] * 2, done.said
    assert "host n2 is down: an event killed it, with all that ran there" in done.said
    assert lab.journal()[-1]["state"] == "complete"
