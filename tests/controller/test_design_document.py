"""What design.json says of an experiment, and what a run that goes on takes from it."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard import api
from steelyard.controller.choices import RunChoices
from steelyard.controller.design_document import restore_default
from steelyard.controller.run import extend
from steelyard.model.experiment import Experiment
from steelyard.spec.stores import choose_store
from steelyard.testing import FakeSite, Said


def experiment(**more: Any) -> Experiment:
    workload = {"use": "command", "run": ["true"]}
    return Experiment.model_validate({"experiment": "x", "workload": workload, **more})


@pytest.mark.parametrize(
    ("file", "design", "wanted"),
    [
        ({}, {}, "exclude"),  # a record from before trials were made again
        ({}, {"disturbed": "exclude"}, "exclude"),  # such a record, gone on with since
        ({}, {"disturbed": "replace"}, "replace"),
        ({"disturbed": "include"}, {}, "include"),
        ({"disturbed": "replace"}, {}, "replace"),
    ],
)
def test_a_run_goes_on_with_the_default_that_it_began_with(file: Any, design: Any, wanted: str) -> None:
    record: Any = SimpleNamespace(design=design)
    assert restore_default(experiment(**file), record).disturbed == wanted


def test_an_old_run_that_is_extended_stays_as_it_began(own_place: Any) -> None:
    run = api.run(experiment(repeat=1), site=FakeSite(lambda command: Said()))
    folder = run.record.folder
    design = json.loads(folder.design.read_text())
    assert design.pop("disturbed") == "replace"
    folder.design.write_text(json.dumps(design))
    for repeat in (2, 3):
        extend(folder, choose_store(None), levels={}, repeat=repeat, choices=RunChoices("local"))
        assert json.loads(folder.design.read_text())["disturbed"] == "exclude"
