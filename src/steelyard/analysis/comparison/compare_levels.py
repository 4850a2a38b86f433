"""A comparison within one run: the levels of a parameter against its baseline, in cells otherwise alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.analysis.comparison.comparability import Difference
from steelyard.analysis.comparison.compare import RunComparison, compare_cells
from steelyard.analysis.comparison.gate import Gate, GatedComparison
from steelyard.analysis.comparison.sides import Gap, Pair, common_metrics, is_blocked
from steelyard.analysis.damage import guard_record
from steelyard.analysis.importance import list_requested, select_metrics, select_primary
from steelyard.analysis.summary import RunSummary
from steelyard.errors import UnknownName, UsageError
from steelyard.model.counterpart import dependent_parameters, level_counterparts
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell, show_level
from steelyard.store.reader import RunRecord
from steelyard.units import Share


def compare_within(
    record: RunRecord,
    summary: RunSummary,
    *,
    parameter: str | None = None,
    baseline: str | None = None,
    metrics: Sequence[str] = (),
    gate: Gate | None = None,
) -> GatedComparison | None:
    """What the experiment's `compare` asks for, with its gate, unless others are given; None without either.

    Of the experiment only what is said of the same `parameter` counts. Raises as `compare_levels`.
    """
    with guard_record(record.id):
        asked = record.design.get("compare") or {}
        if not (asked or parameter):
            return None
        parameter = parameter or str(asked["parameter"])
        own = asked if parameter == asked.get("parameter") else {}
        gate = gate or _parse_gate(own)
        comparison = compare_levels(
            record,
            summary,
            parameter=parameter,
            baseline=baseline or (show_level(own["baseline"]) if own else None),
            metrics=metrics or (tuple(map(str, own["metrics"])) if own else ()),
            failures=not gate or "failed" not in gate.allowed,
        )
        return GatedComparison(comparison, gate)


def _parse_gate(asked: Mapping[str, Any]) -> Gate | None:
    if not asked.get("fail_on"):
        return None
    margin = asked["margin"]
    return Gate(tuple(map(str, asked["allow"])), None if margin is None else float(Share.parse(margin)))


def compare_levels(
    record: RunRecord,
    summary: RunSummary,
    *,
    parameter: str,
    baseline: str | None = None,
    metrics: Sequence[str] = (),
    failures: bool = True,
) -> RunComparison:
    """Compare each level of a parameter with the `baseline`, by default the first, in cells otherwise alike.

    Cells that were measured block by block are compared by their pairs (`stats.pairs`), others as those of
    two runs are (`compare_runs`). Without `metrics` those are taken that the experiment names or declares,
    and else the most important one: each further one makes all others harder to tell.

    Raises UnknownName for a parameter, level or metric that the run does not have, UsageError where there is
    nothing to compare, StoreError for a damaged record.
    """
    cells = [cell.cell for cell in summary.cells]
    level = _find_baseline(cells, parameter, baseline)
    by_key = {cell.cell.key: cell for cell in summary.cells}
    counterparts = list(level_counterparts(cells, parameter, level))
    of_base = f"{parameter}={level}"
    pairs = [
        Pair(one.cell, (by_key[one.others[0].key],), (by_key[one.cell.key],), is_blocked(record))
        for one in counterparts
        if len(one.others) == 1
    ]
    if not pairs:
        raise UsageError(f"no cell with {of_base} matches a cell with another level of '{parameter}'")
    known = common_metrics([summary])
    wanted = select_metrics(known.values(), metrics) or _select_important(record, known)
    return replace(
        compare_cells(pairs, wanted, failures=failures),
        a=(of_base,),
        b=tuple(dict.fromkeys(f"{parameter}={_text(one.cell, parameter)}" for one in counterparts)),
        gaps=tuple(
            Gap(one.cell, "a", (of_base,), whole=True) for one in counterparts if len(one.others) != 1
        ),
        left_out=tuple(name for name in known if known[name] not in wanted),
        differences=tuple(_find_dependent_parameters(cells, parameter, pairs)),
        parameter=parameter,
    )


def _select_important(record: RunRecord, known: dict[str, Metric]) -> list[Metric]:
    """What the experiment asks about, else the most important metric."""
    asked = list_requested(record.design)
    return select_primary(known.values(), asked)[: len(set(asked) & set(known)) or 1]


def _find_baseline(cells: Sequence[Cell], parameter: str, baseline: str | None) -> str:
    """The baseline as it stands in cells' keys."""
    levels = [_text(cell, parameter) for cell in cells if parameter in cell.parameters]
    if not levels:
        names = dict.fromkeys(name for cell in cells for name in cell.parameters)
        hint = f"the run has: {', '.join(names) or 'no parameters'}"
        raise UnknownName("parameter", parameter, names, hint=hint)
    known = {level.strip("'"): level for level in levels} | {level: level for level in levels}
    if len(set(levels)) < 2:
        raise UsageError(f"'{parameter}' has only one level in this run, {levels[0]}; a comparison needs two")
    if baseline is not None and baseline not in known:
        hint = f"'{parameter}' has: {', '.join(dict.fromkeys(levels))}"
        raise UnknownName(f"level of '{parameter}'", baseline, known, hint=hint)
    return known[levels[0] if baseline is None else baseline]


def _find_dependent_parameters(
    cells: Sequence[Cell], parameter: str, pairs: Sequence[Pair]
) -> Iterator[Difference]:
    """The parameters that differ with the levels, as they do under `zip`."""
    for name in dependent_parameters(cells, [parameter]):
        before = dict.fromkeys(_text(cell.cell, name) for pair in pairs for cell in pair.a)
        after = dict.fromkeys(_text(cell.cell, name) for pair in pairs for cell in pair.b)
        yield Difference(
            f"{name}, in step with {parameter}", " | ".join(before), " | ".join(after), place=False
        )


def _text(cell: Cell, parameter: str) -> str:
    return show_level(cell.parameters.get(parameter))
