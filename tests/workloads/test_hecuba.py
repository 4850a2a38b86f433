"""Applications of Hecuba: what is started, and a real one beside a real ring."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from steelyard import api
from steelyard.model.command import Endpoint, Place
from steelyard.spec.tool_needs import find_tools
from steelyard.tools.find import find_missing
from steelyard.workloads.hecuba import HECUBA, Hecuba

CELLS = Path(__file__).parents[2] / "examples" / "hbp" / "hecuba_cells.py"


def test_its_python_is_the_one_with_hecuba():
    workload = Hecuba(Hecuba.Options.model_validate({"run": ["python3", "cells.py", "10"]}))
    ring = Endpoint("10.0.0.1", 9042, {"protocol": "cql", "CONTACT_NAMES": "10.0.0.1", "NODE_PORT": "9042"})
    command = workload.command(Place(PurePosixPath("/s"), PurePosixPath("/raw"), 2, 2**30, 1, to=ring))
    assert command.argv[3] == "hecuba", "whose environment is first on PATH"
    assert {"env", "python3", "cells.py", "10"} <= set(command.argv)
    assert command.env["CONTACT_NAMES"] == "10.0.0.1"


@pytest.mark.full
def test_a_real_application_keeps_its_cells(tmp_path, enterable_scratch):
    if lacking := [tool.name for tool in find_missing([HECUBA, *find_tools("cassandra")])]:
        pytest.skip(f"{', '.join(lacking)} is not installed")
    figures = {name: {"regex": rf"{name}: (\S+)"} for name in ("lost", "write_rate", "read_rate")}
    run = api.run(
        {
            "experiment": "hecuba",
            "roles": {"db": 1, "app": 1},
            "services": {"ring": {"use": "cassandra", "on": "db", "authentication": "none", "open": True}},
            "workload": {
                "use": "hecuba",
                "on": "app",
                "to": "ring",
                "run": ["python3", str(CELLS), "100"],
                "metrics": figures,
            },
            "disturbed": "include",
            "repeat": 1,
        },
        store=tmp_path,
    )
    (trial,) = run.record.trials
    assert trial.result.status == "ok", trial.message
    assert trial.result.metrics["lost"] == 0
    assert trial.result.metrics["write_rate"] > 0
