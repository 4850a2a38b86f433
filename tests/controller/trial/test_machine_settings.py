"""Settings of whole machines hold during a trial and are put back after it; mistakes are told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from steelyard.cli.app import run as call_steelyard
from steelyard.model.keys.machine import parse_setting

SWAPPINESS = Path("/proc/sys/vm/swappiness")
HUGE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
FILE = """\
experiment: settings
allow: machine-settings
parameters: {swappiness: [31, 32]}
roles: {host: {hosts: 1, machine: {swappiness: "${swappiness}", transparent_huge_pages: madvise}}}
workload: {use: command, on: host, script: "cat /proc/sys/vm/swappiness"}
repeat: 1
order: as-written
disturbed: include
"""


@pytest.fixture
def settings():
    """What the kernel said before, and must say afterwards."""
    if os.geteuid() != 0 or not os.access(SWAPPINESS, os.W_OK) or not HUGE.exists():
        pytest.skip("settings of this kernel may not be changed here")
    try:
        before = SWAPPINESS.read_text(), parse_setting(HUGE.read_text())
        SWAPPINESS.write_text(before[0])
        HUGE.write_text(before[1])
    except OSError:
        pytest.skip("settings of this kernel may not be changed here")
    yield before
    SWAPPINESS.write_text(before[0])
    HUGE.write_text(before[1])


def read_all():
    return SWAPPINESS.read_text(), parse_setting(HUGE.read_text())


@pytest.mark.xdist_group("machine-settings")
def test_they_hold_during_a_trial_and_are_put_back(settings, own_place, capsys):
    (own_place / "x.yaml").write_text(FILE)
    assert call_steelyard(("run", "-q", "x.yaml")) == 0, capsys.readouterr().err
    [run] = (own_place / "store/runs").iterdir()
    said = [path.read_text().strip() for path in sorted(run.glob("trials/*/*/*/stdout"))]
    assert said == ["31", "32"]
    document = json.loads((run / "trials/1/trial.json").read_text())
    assert document["machines"]["local"]["swappiness"] == {"set": "31", "before": settings[0].strip()}
    assert read_all() == settings


@pytest.mark.xdist_group("machine-settings")
def test_what_a_kernel_does_not_grant_fails_the_trial_and_is_put_back(settings, own_place, capsys):
    (own_place / "x.yaml").write_text(FILE.replace("transparent_huge_pages: madvise", "huge_pages: 99999999"))
    assert call_steelyard(("run", "-q", "x.yaml")) == 3
    said = capsys.readouterr()
    assert "machine: huge_pages is " in said.out + said.err
    assert read_all() == settings
    assert Path("/proc/sys/vm/nr_hugepages").read_text().strip() != "99999999"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("allow: machine-settings\n", "", "x.yaml:3:35  machine: these settings change whole machines"),
        ("[31, 32]", "[31, 320]", "swappiness: 320 is not a number from 0 to 200, with swappiness=320"),
        ("madvise", "sometimes", "transparent_huge_pages: 'sometimes' is not always, madvise or never"),
        ("madvise", '"${thp}"', "'thp' is not a parameter"),
        ("swappiness:", "swapiness:", "unknown key 'swapiness'; did you mean 'swappiness'?"),
        (
            "allow: machine-settings",
            "allow: everything",
            "allow: 'everything' is not one of machine-settings",
        ),
    ],
)
def test_mistakes_are_told(own_place, capsys, old, new, says):
    text = (
        FILE.replace("machine: {swappiness:", "machine: {" + new)
        if old == "swappiness:"
        else FILE.replace(old, new)
    )
    (own_place / "x.yaml").write_text(text)
    assert call_steelyard(("plan", "x.yaml")) == 2
    assert says in capsys.readouterr().err
