"""`steelyard cluster run` on a real cluster: the database in one pod, its application in another."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from patience import until

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("kubernetes")]
WORDS = ("--site", "pods", "--database", "redis", "--set", "tls=false", "-nC", "1", "-nA", "1", "--disjoint")
SCRIPT = """
pwd
export REDISCLI_AUTH=$STEELYARD_SERVICE_PASSWORD
said=$(redis-cli -h $STEELYARD_SERVICE_ADDRESS -p $STEELYARD_SERVICE_PORT ping)
[ "$said" = PONG ] && exit 7
"""


class Bench:
    """The command in a directory with a site of short leases."""

    def __init__(self, real: Any, place: Path) -> None:
        self.real, self.place = real, place
        site = {"use": "kubernetes", "image": "tools:1", "kubeconfig": str(real.kubeconfig)}
        (place / "sites.yaml").write_text(json.dumps({"pods": {**site, "lease": "20s", "lost_after": "5s"}}))

    def start(self, *words: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "XDG_STATE_HOME": f"{self.place}/state"}
        argv = [sys.executable, "-m", "steelyard", "cluster", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(argv, cwd=self.place, env=environment, text=True, **pipes)

    def has_held(self) -> bool:
        """Whether a database stays up, its application being over."""
        return any("run-held" in path.read_text() for path in self.place.glob("store/runs/*/journal.ndjson"))


@pytest.fixture
def bench(real: Any, own_place: Path) -> Bench:
    return Bench(real, own_place)


def test_the_application_reaches_the_database_and_its_exit_code_is_ours(bench: Bench) -> None:
    appl = f"sh -c {shlex.quote(SCRIPT)}"
    process = bench.start("run", *WORDS, "--finish", "--appl", appl)
    said, wrong = process.communicate()
    assert process.returncode == 7, said + wrong
    assert said.startswith("/scratch/"), "it begins in a directory of its pod"
    assert not bench.real.labelled()


def test_it_stays_until_it_is_stopped_from_here(bench: Bench) -> None:
    process = bench.start("run", *WORDS)
    assert until(bench.has_held)
    status, _ = bench.start("status", "--json").communicate()
    (node,) = json.loads(status)["nodes"]["ring"]
    assert node["address"].startswith("10.")
    stopping = bench.start("stop")
    stopping.communicate()
    assert stopping.returncode == 0
    _, wrong = process.communicate()
    assert process.returncode == 0, wrong
    assert not bench.real.labelled()


def test_after_kill_9_nothing_of_it_is_left(bench: Bench) -> None:
    process = bench.start("run", *WORDS)
    assert until(bench.has_held)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert until(lambda: not bench.real.labelled())
