"""How long the services of an experiment live, and which cells that binds together.

`keep: trial` deploys afresh for every trial, `keep: cell` for every cell, and `keep: run` as seldom as the
options allow: a service whose options hold `${…}` must be deployed again wherever they change. Cells that
want the very same deployments form a group and are measured one after the other: a split-plot design (Jones
and Nachtsheim 2009), whose whole plots are the groups. That restricts the random order, so it is recorded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from steelyard.model.experiment import Experiment
from steelyard.model.expression import substitute
from steelyard.model.keys.program import SCRIPT, find_mentions, split_scripts
from steelyard.model.keys.reference import Placeholders
from steelyard.model.keys.uses import Recover, ServiceUse, WorkloadUse
from steelyard.model.trial import Cell

_SPANS = ("trial", "cell", "run")


def deployment_key(use: ServiceUse, cell: Cell) -> str | None:
    """What a cell wants of a service, as a text: equal for cells that one deployment serves.

    None when every trial has its own. Raises ExpressionError.
    """
    if use.keep == "trial":
        return None
    return json.dumps(
        [cell.key if use.keep == "cell" else "", resolve_settings(use, cell)], sort_keys=True, default=str
    )


def resolve_settings(use: ServiceUse, cell: Cell) -> dict[str, Any]:
    """All that a cell wants of a service. Raises ExpressionError.

    `${…}` of a script is the shell's, which has the parameters as variables: those that it names count.
    """
    asked = use.settings()
    options, script = split_scripts(asked["options"])
    settings: dict[str, Any] = substitute({**asked, "options": options}, Placeholders(cell.parameters))
    return {**settings, SCRIPT: script, "seen": find_mentions(script, cell.parameters)}


def is_kept_longer(use: ServiceUse, other: ServiceUse) -> bool:
    """Whether one service is kept longer than another."""
    return _SPANS.index(use.keep) > _SPANS.index(other.keep)


def list_preparations(experiment: Experiment) -> tuple[WorkloadUse, ...]:
    """The entries of `workload` before the first measured one: they make what is made once and kept."""
    return tuple(takewhile(lambda use: not use.measured, experiment.workload))


def resolve_recover(use: ServiceUse, cell: Cell) -> Recover | None:
    """The snapshot with whose data a service begins in a cell. Raises ExpressionError."""
    if use.recover is None:
        return None
    options = substitute(use.recover.model_dump(by_alias=True, exclude_none=True), cell.parameters)
    return Recover.model_validate({key: str(value) for key, value in options.items()})


def group_cells(experiment: Experiment, cells: Sequence[Cell]) -> tuple[tuple[Cell, ...], ...]:
    """The cells in groups that want the same deployments, in the order of the file."""
    binding = [use for use in experiment.services.values() if _is_binding(use)]
    if not binding:
        return (tuple(cells),)
    by_deployment: dict[tuple[str | None, ...], list[Cell]] = {}
    for cell in cells:
        by_deployment.setdefault(tuple(deployment_key(use, cell) for use in binding), []).append(cell)
    return tuple(map(tuple, by_deployment.values()))


def describe_restriction(experiment: Experiment, count: int) -> str:
    """To what services restrict the order of trials, when there are `count` groups of cells; or nothing."""
    if count < 2:
        return ""
    names = ", ".join(name for name, use in experiment.services.items() if _is_binding(use))
    return (
        f"{count} groups of cells each share a deployment of {names} and run one after the other; "
        "chance effects of a deployment affect its entire group"
    )


def _is_binding(use: ServiceUse) -> bool:
    varies = bool(split_scripts(use.options)[1]) or "${" in json.dumps(use.settings(), default=str)
    return use.keep == "cell" or (use.keep == "run" and varies)
