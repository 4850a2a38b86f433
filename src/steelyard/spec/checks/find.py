"""Checks of `find`: what it searches, within which bounds, and whether its condition can be decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from steelyard.errors import suggest_name
from steelyard.model.experiment import Experiment
from steelyard.model.expression import Expression
from steelyard.model.keys.find import WIDEST, Find, SearchBounds
from steelyard.model.keys.levels import Levels
from steelyard.model.metric import Metric
from steelyard.spec.faults import Fault
from steelyard.stats.condition import SMALLEST
from steelyard.stats.sample import SMALLEST_SAMPLE


def repeat_faults(experiment: Experiment) -> Iterator[Fault]:
    """Whether somebody says when to stop repeating, and whether a search can decide by so many."""
    repeat, find = experiment.repeat, experiment.find
    if find is None:
        if repeat.at_most > repeat.at_least and repeat.until is None:
            message = "at_most above at_least requires 'until', which defines when to stop"
            yield Fault(("repeat",), message)
        return
    if find.knee and repeat.until is not None:
        message = "find: the search for a knee decides when to stop repeating; remove 'until'"
        yield Fault(("repeat", "until"), message)
    yield from _too_few_faults(find, repeat.at_most)


def search_faults(experiment: Experiment, broken: Set[str], guessed: Set[str]) -> Iterator[Fault]:
    """What is wrong with the searched parameter; what depends on the keys that are wrong is not looked at."""
    find = experiment.find
    if find is None or "parameters" in broken or find.parameter in guessed:
        return
    if find.parameter not in experiment.parameters:
        hint = suggest_name(find.parameter, experiment.parameters) or _list_parameters(experiment)
        yield Fault(("find", find.goal), f"find: '{find.parameter}' is not a parameter{hint}")
        return
    yield from _bounds_faults(find, experiment.parameters[find.parameter])
    where = experiment.where
    if isinstance(where, str) and "where" not in broken and find.parameter in Expression.parse(where).names:
        message = f"where: '{find.parameter}' is searched by 'find', so 'where' cannot select its levels"
        yield Fault(("where",), message)


def knee_metric_faults(find: Find, declared: Mapping[str, Metric]) -> Iterator[Fault]:
    """A knee is that of a metric of which more is better."""
    metric = declared.get(find.of or "")
    if metric and metric.better != "higher":
        message = f"find: a knee needs a metric of which more is better; {metric.name} is not such a metric"
        yield Fault(("find", "of"), message)


def _too_few_faults(find: Find, at_most: int) -> Iterator[Fault]:
    if find.requirement is None:
        if at_most < SMALLEST_SAMPLE:
            message = (
                f"a knee needs at least {SMALLEST_SAMPLE} repetitions of each level; at_most is {at_most}"
            )
            yield Fault(("repeat",), message)
        return
    over = find.requirement.over_repetitions or "median"
    least = SMALLEST.get(over, 1)
    if at_most < least:
        message = f"find decides by the 95 % interval of the {over}, which needs at least {least} repetitions"
        yield Fault(("repeat",), f"{message}; at_most is {at_most}")


def _bounds_faults(find: Find, levels: Levels) -> Iterator[Fault]:
    name = find.parameter
    path = ("parameters", name)
    if levels.between is None:
        yield Fault(path, f"'{name}' is searched by 'find'; give it bounds: {name}: {{between: [LOW, HIGH]}}")
        return
    bounds = SearchBounds.of(find, levels)
    if bounds.low <= 0:
        yield Fault(path, f"'{name}' is searched by doubling; its bounds must be above 0, not {bounds.low}")
    elif bounds.low >= bounds.high:
        yield Fault(path, f"'{name}': {list(levels.between)} contains fewer than two whole numbers")
    elif bounds.high > bounds.low * WIDEST:
        yield Fault(path, f"'{name}': the bounds of a search may differ by a factor of at most {WIDEST:g}")
    if "scale" in levels.model_fields_set:
        yield Fault((*path, "scale"), f"'{name}' is searched by 'find', always by factors; remove 'scale'")


def _list_parameters(experiment: Experiment) -> str:
    names = ", ".join(experiment.parameters)
    return f"; parameters are {names}" if names else "; this experiment has no parameters"
