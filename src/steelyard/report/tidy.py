"""A run as one tidy table: a row per trial and metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any, Literal, NamedTuple

from steelyard.model.metric import Metric
from steelyard.model.trial import Scalar
from steelyard.store.reader import RunRecord, TrialRecord

Kind = Literal["BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR"]
_FIXED: dict[str, Kind] = {
    "run": "VARCHAR",
    "trial": "BIGINT",
    "repetition": "BIGINT",
    "cell": "VARCHAR",
    "status": "VARCHAR",
    "category": "VARCHAR",
    "marks": "VARCHAR",
    "metric": "VARCHAR",
    "value": "DOUBLE",
    "unit": "VARCHAR",
}


_BOUND: dict[str, Kind] = {"bound": "VARCHAR"}
_PLACED: dict[str, Kind] = {"total_copies": "BIGINT", "hosts": "VARCHAR"}


class Tidy(NamedTuple):
    """`columns` with their kinds (SQL types), and `rows` in the order of the columns; None is nothing."""

    columns: dict[str, Kind]
    rows: list[tuple[Any, ...]]


def tidy(record: RunRecord) -> Tidy:
    """Every trial with every scalar that it measured, in base units; a trial without any has one row.

    After the fixed columns come `bound` (`at most`, where a figure is only known not to be exceeded) and
    `total_copies` and `hosts` (parted by blanks), where any trial's record tells of them, and then one per
    parameter, named `parameter_x` where `x` is taken already. The `marks` of a trial are parted by `; `: rows
    that have any should not be pooled with those that have none, unless they are `counted`.
    """
    names = list(dict.fromkeys(name for cell in record.cells for name in cell.parameters))
    levels = {name: [cell.parameters.get(name) for cell in record.cells] for name in names}
    kinds = {name: _kind(values) for name, values in levels.items()}
    columns = dict(_FIXED)
    bound = any(trial.bounds for trial in record.trials)
    if bound:
        columns |= _BOUND
    placed = any(trial.result.copies != 1 or trial.result.on for trial in record.trials)
    if placed:
        columns |= _PLACED
    extra = frozenset(columns)
    for name, kind in kinds.items():
        columns[_make_unique(_text(name), columns)] = kind
    metrics = {name: metric for name, metric in record.metrics.items() if metric.kind == "scalar"}
    rows = [row for trial in record.trials for row in _rows(record.id, trial, metrics, kinds, extra)]
    return Tidy(columns, rows)


def _rows(
    run: str, trial: TrialRecord, metrics: Mapping[str, Metric], kinds: Mapping[str, Kind], extra: Set[str]
) -> Iterator[tuple[Any, ...]]:
    result = trial.result
    cell = result.trial.cell
    marks = "; ".join(
        f"{mark.kind}{', counted' if mark.counted else ''}: {mark.reason}" for mark in trial.marks
    )
    about = (run, trial.number, result.trial.repetition, _text(cell.key))
    begin = (*about, result.status, result.category, _text(marks))
    where = (result.copies, _text(" ".join(result.on))) if "hosts" in extra else ()
    levels = where + tuple(_level(cell.parameters.get(name), kind) for name, kind in kinds.items())
    measured = {name: value for name, value in result.metrics.items() if name in metrics}
    for name, value in measured.items():
        bound = ("at most" if name in trial.bounds else None,) if "bound" in extra else ()
        yield (*begin, _text(name), float(value), metrics[name].unit, *bound, *levels)
    if not measured:
        yield (*begin, None, None, None, *(None for _ in _BOUND if "bound" in extra), *levels)


def _make_unique(name: str, taken: Mapping[str, Kind]) -> str:
    """A name that no column has yet; readers of SQL make no difference between `a` and `A`."""
    lower = {other.lower() for other in taken}
    while name.lower() in lower:
        name = f"parameter_{name}"
    return name


def _text(text: str) -> str:
    """The text without lone surrogates, which stand for bytes that are no text."""
    return text.encode("utf-8", errors="replace").decode()


def _kind(levels: list[Scalar]) -> Kind:
    """The narrowest kind that holds all levels of a parameter."""
    there = [level for level in levels if level is not None]
    if there and all(isinstance(level, bool) for level in there):
        return "BOOLEAN"
    if there and all(isinstance(level, int) and not isinstance(level, bool) for level in there):
        return "BIGINT" if all(abs(level) < 2**63 for level in there if isinstance(level, int)) else "VARCHAR"
    numbers = all(isinstance(level, int | float) and not isinstance(level, bool) for level in there)
    return "DOUBLE" if there and numbers else "VARCHAR"


def _level(level: Scalar, kind: Kind) -> Scalar:
    return level if level is None or kind != "VARCHAR" else _text(str(level))
