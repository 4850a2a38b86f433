"""A whole run on rented machines, from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXPERIMENT = """
experiment: rented
parameters: {machine: [0, 1]}
roles: {node: 2}
workload: {use: command, run: ["true"], on: "node[${machine}]"}
repeat: 2
disturbed: include
"""


@pytest.mark.full
def test_a_run_compares_two_types_and_leaves_nothing(cloud: Any) -> None:
    site = cloud.site(
        types={"c4.xlarge": 1, "m4.xlarge": 1}, prices={"per_hour": {"c4.xlarge": 0.199}}
    ).options
    entry = {"use": "ec2", **json.loads(site.model_dump_json(exclude_unset=True))}
    Path("sites.yaml").write_text(json.dumps({"rented": entry}))
    Path("rented.yaml").write_text(EXPERIMENT)
    argv = [sys.executable, "-m", "steelyard", "run", "rented.yaml", "--site", "rented"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = Path().rglob("environment.json")
    hosts = json.loads(found.read_text())["hosts"]
    assert [(host["name"], host["type"]) for host in hosts] == [
        ("c4.xlarge-0", "c4.xlarge"),
        ("m4.xlarge-0", "m4.xlarge"),
    ]
    assert [host.get("price", {}).get("per_hour") for host in hosts] == [0.199, None]
    texts = [path.read_bytes() for path in Path().rglob("*") if path.is_file()]
    assert not any(b"AKIA" in text or b"NotASecret" in text for text in texts)
    cloud.assert_empty(started=2)
