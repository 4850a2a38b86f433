"""A host that is cut off in the middle of a trial: a named failure, a clean machine, and a resume."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from patience import until

pytestmark = [
    pytest.mark.full,  # most of its 40 s pass until a silent host counts as lost
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(
        not (shutil.which("ip") and shutil.which("sshd", path="/usr/sbin:/usr/bin")),
        reason="no sshd or no ip is installed",
    ),
]
EXPERIMENT = """
experiment: cut
roles: {node: 3}
workload: {use: command, script: 'echo $$; sleep "$(cat PLACE)"'}
repeat: 2
disturbed: include
"""


@pytest.fixture
def running(own_place: Path) -> Iterator[subprocess.Popen[str]]:
    place = own_place / "seconds"
    place.write_text("3600")
    file = own_place / "cut.yaml"
    file.write_text(EXPERIMENT.replace("PLACE", str(place)))
    argv = [sys.executable, "-m", "steelyard", "run", str(file), "--site", "netns:3"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        try:
            yield run
        finally:
            if run.poll() is None:
                run.terminate()


def devices() -> set[str]:
    listed = json.loads(subprocess.run(["ip", "-json", "link"], capture_output=True, check=True).stdout)
    return {entry["ifname"] for entry in listed}


def cut_once_the_trial_runs(store: Path, host: int) -> tuple[str, str]:
    """Cut a host off, by the command that the record gives a human; its name, and the device towards it."""
    begun = lambda: len(list(store.glob("runs/*/trials/1/*/run/stdout"))) == 3  # noqa: E731
    assert until(begun), "the trial did not begin"
    (environment,) = store.glob("runs/*/environment.json")
    found = json.loads(environment.read_text())["hosts"][host]
    argv = ["ip", "-json", "route", "get", found["address"]]
    (route,) = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
    subprocess.run(shlex.split(found["cut"]), check=True)
    return str(found["name"]), str(route["dev"])


def test_a_cut_host_is_named_and_nothing_stays(running: subprocess.Popen[str], own_place: Path) -> None:
    name, device = cut_once_the_trial_runs(Path(os.environ["STEELYARD_STORE"]), 1)
    assert device in devices()
    said, _ = running.communicate()
    assert running.returncode == 3
    assert f"host {name} is lost" in said
    assert "steelyard resume" in said
    assert device not in devices()
    assert not list(Path(os.environ["STEELYARD_STORE"]).glob("scratch/*"))
    (own_place / "seconds").write_text("0.1")
    argv = [sys.executable, "-m", "steelyard", "resume", "last"]
    again = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
