"""kill -9 of a whole run in the middle of a trial in a distributed file system: nothing is left of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from steelyard.hosts.minder.processes import list_pids
from steelyard.hosts.sweep import find_bearers
from steelyard.testing.patience import until

contract = loaded(Path(__file__).parents[1] / "contract" / "test_services.py")
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]
HOSTS = {"server": 2, "client": 1}


def list_mounts(run: str) -> set[str]:
    """What is mounted for a run in any namespace that a process is in."""
    found = set[str]()
    for pid in list_pids():
        try:
            lines = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
        except OSError:
            continue
        found |= {line.split()[4] for line in lines if run in line}
    return found


def find_cable(running: Path) -> Path:
    """What leads from here into the run's network, by the address that its client has."""
    match = re.search(r"inet (\d+)\.(\d+)\.(\d+)\.", running.read_text())
    assert match
    return Path("/sys/class/net") / f"sy{match[1]}-{match[2]}-{match[3]}"


@pytest.mark.parametrize(
    ("name", "options", "way"),
    [
        ("moosefs", {}, "directory"),
        ("glusterfs", {"replicas": 2}, "directory"),
        ("nfs", {}, "to"),
    ],
)
def test_nothing_is_left(
    own_place: Path, enterable_scratch: Path, name: str, options: dict[str, Any], way: str
):
    contract.needed(name)
    running = own_place / "running"
    script = f"head -c 9999 /dev/urandom > file; ip -4 -o addr show dev eth0 > n; mv n {running}; sleep 3600"
    workload = {"use": "command", "script": script, "on": "client", way: "files"}
    services = {"files": {"use": name, "on": "server", **options}}
    tree = {"experiment": "killed", "roles": HOSTS, "services": services, "workload": workload, "repeat": 1}
    (own_place / "killed.yaml").write_text(json.dumps(tree))
    words = ("-m", "steelyard", "run", "killed.yaml", "--site", "netns:3")
    with (own_place / "said").open("w") as said:
        process = subprocess.Popen((sys.executable, *words), stdout=said, stderr=said)
        try:
            assert until(lambda: running.exists() or process.poll() is not None)
            assert running.exists(), (own_place / "said").read_text()
            (run,) = (path.name for path in (own_place / "store" / "runs").iterdir())
            assert list_mounts(run) or way == "to", "it is mounted"
            assert find_cable(running).exists()
        finally:
            process.kill()
            process.wait()
    assert until(lambda: not list(find_bearers(lambda token: token.run == run)))
    assert until(lambda: not list_mounts(run))
    assert until(lambda: not find_cable(running).exists())
