"""Checks of what is set against what within a run: `compare`, and the `against` of requirements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import islice

from steelyard.errors import suggest_name
from steelyard.model.counterpart import Counterpart, against_counterparts, level_counterparts
from steelyard.model.experiment import Experiment
from steelyard.model.expression import ExpressionError
from steelyard.model.keys.compare import Compare
from steelyard.model.keys.levels import Levels
from steelyard.model.keys.method import Require
from steelyard.model.keys.requirement import Requirement
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell, show_level
from steelyard.spec.faults import Fault, Path


def compare_faults(
    experiment: Experiment, cells: Sequence[Cell], broken: Set[str], guessed: Set[str]
) -> Iterator[Fault]:
    """What is wrong with the parameter and its baseline; what depends on wrong keys is not looked at."""
    asked = experiment.compare
    if asked is None or "parameters" in broken or asked.parameter in guessed:
        return
    known = experiment.parameters
    path: Path = ("compare", "parameter")
    if asked.parameter not in known:
        listed = suggest_name(asked.parameter, known) or f"; parameters are {', '.join(known) or 'none'}"
        yield Fault(path, f"compare: '{asked.parameter}' is not a parameter{listed}")
    elif experiment.find:
        message = "compare: 'find' searches each level separately, so no cells can be compared"
        yield Fault(path, f"{message}; leave 'compare' out")
    else:
        wrong = list(_levels_faults(asked, known[asked.parameter]))
        yield from wrong or _cell_faults(asked, show_level(asked.baseline_level(known)), cells)


def _levels_faults(asked: Compare, levels: Levels) -> Iterator[Fault]:
    known = [show_level(level) for level in levels.values()]
    if len(known) < 2:
        has = f"has one level, {known[0]}" if known else "is drawn by 'sample'"
        yield Fault(("compare", "parameter"), f"compare: '{asked.parameter}' {has}; list at least two levels")
    elif asked.baseline is not None and show_level(asked.baseline) not in known:
        text = show_level(asked.baseline)
        listed = suggest_name(text, known) or f"; levels are {', '.join(known[:12])}"
        yield Fault(
            ("compare", "baseline"), f"baseline: {text} is not a level of '{asked.parameter}'{listed}"
        )


def _cell_faults(asked: Compare, level: str, cells: Sequence[Cell]) -> Iterator[Fault]:
    """Whether there is anything to compare, and a gate that could ever pass."""
    name = asked.parameter
    counterparts = list(level_counterparts(cells, name, level))
    if cells and not any(one.others for one in counterparts):
        message = f"compare: no cell with {name}={level} matches a cell with another level; check 'where'"
        yield Fault(("compare", "parameter"), message)
    elif asked.fail_on and "missing" not in asked.allow:
        for one in islice((one for one in counterparts if not one.others), 1):
            message = (
                f"compare: no cell with {name}={level} matches {one.cell.key}, so fail_on could never pass"
            )
            yield Fault(("compare",), f"{message}; write 'allow: missing', or change 'where'")


def against_faults(require: Require, index: int, cells: Sequence[Cell]) -> Iterator[Fault]:
    """Whether each cell of a requirement has exactly one to be divided by."""
    path: Path = ("require", index, "against")
    try:
        counterparts = list(against_counterparts(cells, str(require.where), str(require.against)))
    except ExpressionError as error:
        yield Fault(path, f"against: {error.message}")
        return
    for one in islice((one for one in counterparts if len(one.others) != 1 or one.cell in one.others), 1):
        yield Fault(path, f"against: {_describe_mismatch(one)}")


def _describe_mismatch(one: Counterpart) -> str:
    if not one.others:
        return f"no cell matches {one.cell.key} in the parameters that 'against' does not name"
    if one.cell in one.others:
        return f"it selects {one.cell.key}, which 'where' selects too"
    picked = ", ".join(other.key for other in one.others[:3])
    return f"it selects {len(one.others)} cells for {one.cell.key}: {picked}; it must select one"


def ratio_faults(path: Path, requirement: Requirement, metric: Metric) -> Iterator[Fault]:
    """Whether the requirement can be one on a ratio of cells."""
    text, over = requirement.text, requirement.over_repetitions or metric.over_repetitions
    if over != "median":
        yield Fault(
            path, f"'{text}': ratios to other cells are judged by the median; write {metric.name}.median"
        )
    elif requirement.operator in ("==", "!="):
        yield Fault(path, f"'{text}': an interval cannot show that two are equal; write <= 105% or >= 95%")
    elif requirement.bound.unit != "1" or requirement.bound.value <= 0:
        yield Fault(path, f"'{text}': with 'against' the bound is a ratio above 0, such as 105% or 1.05")
