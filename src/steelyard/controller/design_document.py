"""What analysis needs to know of an experiment, years later and without its plug-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.design import Design
from steelyard.model.experiment import Experiment
from steelyard.model.keys.requirement import Requirement
from steelyard.model.lifetimes import describe_restriction
from steelyard.spec.load import load_source
from steelyard.spec.metrics import declared_metrics
from steelyard.spec.yaml.source import read
from steelyard.store.reader import RunRecord


def describe_design(experiment: Experiment, design: Design) -> dict[str, Any]:
    """The content of `design.json`."""
    file = experiment.to_tree()
    metrics = declared_metrics(experiment, design.cells).values()
    required = [
        {"where": entry.where, "against": entry.against, **_to_dict(Requirement.parse(entry.that))}
        for entry in experiment.require
    ]
    return {
        "experiment": experiment.experiment,
        "about": experiment.about,
        "seed": design.seed,
        "workload": [use.model_dump(mode="json") for use in experiment.workload],
        "before_each": file.get("before_each", []),
        "services": {name: use.model_dump(mode="json") for name, use in experiment.services.items()},
        "timeline": file.get("timeline", []),
        "collect": [use.to_tree() for use in experiment.collect],
        "order": experiment.order,
        "restricted": describe_restriction(experiment, len(design.groups)),
        "repeat": experiment.repeat.model_dump(mode="json"),
        "outliers": experiment.outliers,
        "disturbed": experiment.disturbed,
        "covers": list(experiment.covers),
        "tags": dict(experiment.tags),
        "metrics": [_to_dict(metric) for metric in metrics],
        "require": required,
        "compare": _describe_compare(experiment),
        "find": design.search_goal.record() if design.search_goal else None,
        "roles": {name: role.model_dump(mode="json") for name, role in experiment.roles.items()},
        "derive": [entry.model_dump(mode="json", exclude_none=True) for entry in experiment.derive],
        "prices": experiment.prices.model_dump(mode="json") if experiment.prices else None,
        "cells": [dict(cell.parameters) for cell in design.cells],
    }


def _describe_compare(experiment: Experiment) -> dict[str, Any] | None:
    """What is compared within the run, with the baseline that was chosen."""
    if experiment.compare is None:
        return None
    asked = experiment.compare.model_dump(mode="json")
    return {**asked, "baseline": experiment.compare.baseline_level(experiment.parameters)}


def restore_default(experiment: Experiment, record: RunRecord) -> Experiment:
    """The experiment of a run that goes on, with the default of `disturbed` that it began with.

    Before `replace` was the default, disturbed trials were left out and `design.json` did not say so.
    """
    if "disturbed" in experiment.model_fields_set:
        return experiment
    return experiment.model_copy(update={"disturbed": record.design.get("disturbed", "exclude")})


def load_experiment(record: RunRecord) -> Experiment:
    """The experiment of a run, as it is gone on with. Raises SpecError, StoreError."""
    text = read(record.experiment_text, str(record.folder.experiment))
    return restore_default(load_source(text, find_folder(record)), record)


def find_folder(record: RunRecord) -> Path | None:
    """The folder of the file that a run began with, where its plug-ins and programs lie."""
    folder = record.journal[0].get("folder") if record.journal else None
    return Path(folder) if isinstance(folder, str) else None


def _to_dict(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
