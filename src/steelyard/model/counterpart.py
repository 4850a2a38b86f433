"""Cells that are alike but for some parameters: which cell is set against which."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from typing import NamedTuple

from steelyard.model.expression import Expression
from steelyard.model.trial import Cell, show_level


class Counterpart(NamedTuple):
    """A cell and those that it may be set against; a comparison needs exactly one."""

    cell: Cell
    others: tuple[Cell, ...]


def level_counterparts(cells: Sequence[Cell], name: str, baseline: str) -> Iterator[Counterpart]:
    """The cells of the other levels of a parameter, each with its like of the baseline (as text)."""

    def is_baseline(cell: Cell) -> bool:
        return show_level(cell.parameters.get(name)) == baseline

    return counterparts(cells, [name], lambda cell: not is_baseline(cell), is_baseline)


def against_counterparts(cells: Sequence[Cell], where: str, against: str) -> Iterator[Counterpart]:
    """The cells of `where`, each with its like of `against`. Raises ExpressionError."""
    picks, others = Expression.parse(where), Expression.parse(against)

    def make_test(condition: Expression) -> Callable[[Cell], bool]:
        return lambda cell: bool(condition.value(cell.parameters))

    return counterparts(cells, picks.names | others.names, make_test(picks), make_test(others))


def counterparts(
    cells: Sequence[Cell], names: Collection[str], of: Callable[[Cell], bool], against: Callable[[Cell], bool]
) -> Iterator[Counterpart]:
    """Each cell that is `of`, with the cells `against` that differ from it in the parameters `names` alone.

    Parameters that go in step with these, as under `zip`, differ with them.
    """
    apart = {*names, *dependent_parameters(cells, names)}
    candidates: dict[Hashable, list[Cell]] = {}
    for cell in filter(against, cells):
        candidates.setdefault(_level_key(cell, cell.parameters.keys() - apart), []).append(cell)
    for cell in filter(of, cells):
        yield Counterpart(cell, tuple(candidates.get(_level_key(cell, cell.parameters.keys() - apart), ())))


def dependent_parameters(cells: Sequence[Cell], names: Collection[str]) -> list[str]:
    """The other parameters that vary, and whose level those of `names` decide."""
    others = dict.fromkeys(name for cell in cells for name in cell.parameters if name not in names)
    return [name for name in others if _varies(cells, name) and _is_decided(cells, name, names)]


def _varies(cells: Sequence[Cell], name: str) -> bool:
    return len({_level_key(cell, [name]) for cell in cells}) > 1


def _is_decided(cells: Sequence[Cell], name: str, by: Collection[str]) -> bool:
    known: dict[Hashable, Hashable] = {}
    return all(
        known.setdefault(_level_key(cell, by), level) == level for cell, level in _iter_levels(cells, name)
    )


def _iter_levels(cells: Sequence[Cell], name: str) -> Iterator[tuple[Cell, Hashable]]:
    return ((cell, _level_key(cell, [name])) for cell in cells)


def _level_key(cell: Cell, names: Collection[str]) -> Hashable:
    """As text, for 1 and true are equal."""
    return frozenset((name, show_level(cell.parameters.get(name))) for name in names)
