"""Settings of whole machines are put back when the controller is killed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Lab

SWAPPINESS = Path("/proc/sys/vm/swappiness")
FILE = """\
experiment: settings
allow: machine-settings
roles: {host: {hosts: 1, machine: {swappiness: 31}}}
workload: {use: command, on: host, script: "touch PLACE/up; sleep 600"}
repeat: 1
"""


@pytest.fixture
def swappiness():
    """What the kernel said before, and must say afterwards."""
    before = SWAPPINESS.read_text()
    try:
        SWAPPINESS.write_text(before)
    except OSError:
        pytest.skip("settings of this kernel may not be changed here")
    yield before
    SWAPPINESS.write_text(before)


@pytest.mark.xdist_group("machine-settings")
@pytest.mark.parametrize("agent", ["sh", "probe"])
@pytest.mark.parametrize("site", ["local", "netns:1"])
def test_they_are_put_back_when_the_controller_is_killed(
    swappiness, lab: Lab, until, monkeypatch, site: str, agent: str
):
    if agent == "sh":
        monkeypatch.setenv("STEELYARD_PROBE", "none")
    runner = lab.start("run", "-q", lab.file(FILE.replace("PLACE", str(lab.place))), "--site", site)
    assert until((lab.place / "up").is_file), runner.said()
    assert SWAPPINESS.read_text() == "31\n"
    runner.process.kill()
    runner.process.wait()
    assert until(lambda: SWAPPINESS.read_text() == swappiness)
