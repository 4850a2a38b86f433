"""Two services under one workload, in one run."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from steelyard import api

SERVER = (
    "import socket, sys, time; s = socket.create_server((sys.argv[1], int(sys.argv[2]))); time.sleep(1000)"
)


@pytest.mark.skipif(not shutil.which("memcached"), reason="memcached is not installed")
def test_a_service_may_be_a_level(told: Any) -> None:
    tree = {
        "experiment": "which",
        "parameters": {"kind": ["program", "memcached"]},
        "services": {
            "cache": {
                "use": "${kind}",
                "on": "host",
                "open": True,
                "program": {"run": ["python3", "-c", SERVER, "${self.address}", "${port}"]},
                "memcached": {"threads": 1},
            }
        },
        "workload": {"use": "command", "to": "cache", "run": ["echo", "${kind}", "${cache.port}"]},
        "repeat": 2,
        "disturbed": "include",
    }
    run = api.run(tree, observer=told)
    assert [trial.result.status for trial in run.record.trials] == ["ok"] * 4
    ready = [line for line in run.record.journal if line["kind"] == "service-ready"]
    assert {line["use"] for line in ready} == {"program", "memcached"}
    assert [cell.cell.parameters["kind"] for cell in run.summary.cells] == ["program", "memcached"]
    ports = {line["use"]: str(line["port"]) for line in ready}
    for trial in run.record.trials:
        (said,) = run.record.folder.trial(trial.number).rglob("stdout")
        kind, port = said.read_text().split()
        assert ports[kind] == port
