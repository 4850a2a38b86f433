"""Which cells a deployment of the services serves."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.model.experiment import Experiment
from steelyard.model.keys.uses import ServiceUse
from steelyard.model.lifetimes import deployment_key, describe_restriction, group_cells
from steelyard.model.space import cells
from steelyard.model.trial import Cell


def experiment(**services: Any) -> Experiment:
    return Experiment.model_validate(
        {
            "experiment": "kept",
            "roles": {"server": 2, "client": 1},
            "parameters": {"n": [1, 2], "size": [10, 20, 30]},
            "services": {name: {"use": "redis", "on": "server", **use} for name, use in services.items()},
            "workload": {"use": "command", "on": "client", "run": ["true"]},
        }
    )


@pytest.mark.parametrize(
    ("services", "sizes"),
    [
        ({}, [6]),
        ({"store": {}}, [6]),
        ({"store": {"keep": "trial", "port": "${n}"}}, [6]),
        ({"store": {"keep": "cell"}}, [1] * 6),
        ({"store": {"port": "${n}"}}, [3, 3]),
        ({"store": {"on": "server[:${n}]"}}, [3, 3]),
        ({"store": {"port": "${size}"}, "other": {"port": "${n}"}}, [1] * 6),
        ({"store": {"port": "${size // 20}"}}, [2, 4]),
    ],
)
def test_groups(services: dict[str, Any], sizes: list[int]) -> None:
    what = experiment(**services)
    every = cells(what, 1)
    found = group_cells(what, every)
    assert [len(group) for group in found] == sizes
    assert sorted(cell.key for group in found for cell in group) == sorted(cell.key for cell in every)


def test_what_a_cell_wants() -> None:
    what = experiment(each={"keep": "trial"}, cell={"keep": "cell"}, run={"port": "${n}"}, same={})
    one, other = cells(what, 1)[:2]
    assert one.parameters["n"] == other.parameters["n"]
    wanted = {
        name: (deployment_key(use, one), deployment_key(use, other)) for name, use in what.services.items()
    }
    assert wanted["each"] == (None, None)
    assert wanted["cell"][0] != wanted["cell"][1]
    assert wanted["run"][0] == wanted["run"][1] != wanted["same"][0]


def test_the_sentence() -> None:
    what = experiment(store={"port": "${n}"}, steady={}, each={"keep": "trial", "port": "${size}"})
    assert describe_restriction(what, 2).startswith(
        "2 groups of cells each share a deployment of store and run one after the other"
    )
    assert describe_restriction(what, 1) == ""


def test_a_script_is_the_shells_and_binds_the_cells_whose_parameters_it_names():
    script = 'echo ${HOME:-none} "${n}" ${other.port}; exec server'
    use = ServiceUse(use="program", on="host", options={"script": script, "env": {"A": "${self.port}"}})
    here, there = Cell({"n": 1, "m": 1}), Cell({"n": 1, "m": 2})
    assert deployment_key(use, here) == deployment_key(use, there)
    assert deployment_key(use, here) != deployment_key(use, Cell({"n": 2, "m": 1}))
