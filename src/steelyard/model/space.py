"""From parameters to cells: product, zipped groups, drawn samples, and `where`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from steelyard.model.experiment import NAME, Experiment
from steelyard.model.expression import Expression
from steelyard.model.keys.find import SearchBounds
from steelyard.model.keys.levels import Levels, Sample
from steelyard.model.trial import Cell, Scalar, show_level

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_CELLS = 1_000_000


class SpaceAxis(NamedTuple):
    """Parameters that vary together, and the rows of their levels."""

    names: tuple[str, ...]
    rows: Sequence[tuple[Scalar, ...]]


def cells(experiment: Experiment, seed: int) -> tuple[Cell, ...]:
    """All cells in the order of the file: the last parameter varies fastest.

    Of a parameter that `find` searches these are the cells at both its bounds; the others come into being as
    the search goes on.

    The experiment must be free of `problems`. Raises ExpressionError when `where` cannot be decided for a
    cell, for example because it divides by a level that is 0.
    """
    axes = _build_axes(experiment, seed)
    names = tuple(experiment.parameters)
    flat = tuple(name for axis in axes for name in axis.names)
    condition = _parse_where(experiment.where)
    selected = []
    for combination in itertools.product(*(axis.rows for axis in axes)):
        levels = dict(zip(flat, itertools.chain.from_iterable(combination), strict=True))
        if flat != names:
            levels = {name: levels[name] for name in names}
        if condition is None or condition.value(levels):
            selected.append(Cell(levels))
    return tuple(selected)


def problems(experiment: Experiment) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What is wrong with the space: the path of the key in the file, and a sentence."""
    for name in experiment.parameters:
        if not NAME.fullmatch(name):
            yield (
                ("parameters", name),
                f"parameter '{name[:40]}' must be a letter, then letters, digits or '_'",
            )
    yield from _zip_problems(experiment)
    yield from _duplicate_problems(experiment)
    yield from _sample_problems(experiment)
    count = _count_cells(experiment)
    if count > MOST_CELLS:
        hint = "draw some of them with 'sample', or let levels change together with 'zip'"
        yield ("parameters",), f"{count:,} cells are more than {MOST_CELLS:,}; {hint}"


def _count_cells(experiment: Experiment) -> int:
    """How many cells there are before `where`: that is how many have to be looked at."""
    in_step = {name for group in experiment.zip for name in group[1:]}
    sizes = (len(levels.values()) for name, levels in experiment.parameters.items() if name not in in_step)
    return math.prod(size or 1 for size in sizes) * (experiment.sample.size if experiment.sample else 1)


def _zip_problems(experiment: Experiment) -> Iterator[tuple[tuple[str | int, ...], str]]:
    grouped = [name for group in experiment.zip for name in group]
    for index, group in enumerate(experiment.zip):
        for name in group:
            if name not in experiment.parameters:
                yield ("zip", index), f"zip: '{name}' is not a parameter"
            elif name == _search_parameter(experiment):
                yield ("zip", index), f"zip: '{name}' is searched by 'find'; it cannot be zipped with others"
            elif experiment.parameters[name].between:
                yield ("zip", index), f"zip: '{name}' is drawn by 'sample'; it cannot be zipped with others"
            elif grouped.count(name) > 1:
                yield ("zip", index), f"zip: '{name}' is listed twice"
        known = [experiment.parameters[name] for name in group if name in experiment.parameters]
        lengths = {len(levels.values()) for levels in known if not levels.between}
        if len(lengths) > 1:
            yield (
                ("zip", index),
                f"zip: {', '.join(group)} have {_join_numbers(lengths)} levels; the numbers must match",
            )


def _duplicate_problems(experiment: Experiment) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """A level may stand twice where it goes in step with others, as long as no cell does."""
    in_step = {name for group in experiment.zip for name in group}
    for name, levels in experiment.parameters.items():
        if name not in in_step and _find_duplicate([(level,) for level in levels.values()]):
            yield ("parameters", name), f"{name}: a level is repeated in {list(levels.values())!r:.80}"
    for index, group in enumerate(experiment.zip):
        columns = [experiment.parameters[name].values() for name in group if name in experiment.parameters]
        if again := _find_duplicate(zip(*columns, strict=False)):
            yield ("zip", index), f"zip: {', '.join(group)} repeat {', '.join(map(show_level, again))}"


def _find_duplicate(rows: Iterable[tuple[Scalar, ...]]) -> tuple[Scalar, ...] | None:
    """The first row that was there before; true is not 1."""
    seen: set[str] = set()
    for row in rows:
        if (shown := repr(row)) in seen:
            return row
        seen.add(shown)
    return None


def _sample_problems(experiment: Experiment) -> Iterator[tuple[tuple[str | int, ...], str]]:
    drawn = list(_select_sampled(experiment))
    if drawn and experiment.sample is None:
        yield (
            ("parameters", drawn[0]),
            f"'{drawn[0]}' has 'between', but 'sample' is missing; add 'sample: {{size: 20}}'",
        )
    if experiment.sample and not drawn:
        beside = " other than the one that 'find' searches" if experiment.find else ""
        yield ("sample",), f"sample: no parameter{beside} has 'between', so there is nothing to draw"
    if experiment.sample and experiment.sample.method == "sobol" and not find_spec("scipy"):
        yield (
            ("sample", "method"),
            "Sobol points need scipy; run `pip install steelyard[sobol]`, or leave 'method' out",
        )


def _search_parameter(experiment: Experiment) -> str:
    """The parameter that `find` searches; empty without a search."""
    return experiment.find.parameter if experiment.find else ""


def _select_sampled(experiment: Experiment) -> dict[str, Levels]:
    searched = _search_parameter(experiment)
    return {name: one for name, one in experiment.parameters.items() if one.between and name != searched}


def _join_numbers(numbers: set[int]) -> str:
    return " and ".join(str(number) for number in sorted(numbers))


def _parse_where(where: str | bool | None) -> Expression | None:
    if where is None or where is True:
        return None
    return Expression.parse(str(where).lower() if isinstance(where, bool) else where)


def _build_axes(experiment: Experiment, seed: int) -> list[SpaceAxis]:
    zipped = {name: group for group in experiment.zip for name in group}
    axes: list[SpaceAxis] = []
    for name, levels in experiment.parameters.items():
        group = zipped.get(name, (name,))
        if experiment.find and name == experiment.find.parameter:
            bounds = SearchBounds.of(experiment.find, levels)
            axes.append(SpaceAxis(group, [(bounds.low,), (bounds.high,)]))
        if levels.between or group[0] != name:
            continue
        columns = [experiment.parameters[member].values() for member in group]
        axes.append(SpaceAxis(group, list(zip(*columns, strict=True))))
    if experiment.sample:
        axes.append(_draw_axis(experiment.sample, _select_sampled(experiment), seed))
    return axes


def _draw_axis(sample: Sample, drawn: Mapping[str, Levels], seed: int) -> SpaceAxis:
    draw = _draw_sobol if sample.method == "sobol" else _draw_hypercube
    points = draw(sample.size, len(drawn), seed)
    rows = (tuple(map(_level_at, drawn.values(), point)) for point in points)
    return SpaceAxis(tuple(drawn), list(dict.fromkeys(rows)))


def _draw_hypercube(size: int, dimensions: int, seed: int) -> NDArray[np.float64]:
    """A Latin hypercube (McKay, Beckman, Conover 1979): one point in each stratum of each dimension.

    It draws what scipy's draws, which runs of earlier versions have.
    """
    import numpy as np

    (random,) = np.random.default_rng(seed).spawn(1)
    within = random.uniform(size=(size, dimensions))
    strata = [random.permutation(np.arange(1, size + 1)) for _ in range(dimensions)]
    points: NDArray[np.float64] = (np.column_stack(strata) - within) / size
    return points


def _draw_sobol(size: int, dimensions: int, seed: int) -> NDArray[np.float64]:
    """Scrambled Sobol points (Owen 1998), by scipy, whose tables of directions are no work for us."""
    from scipy.stats import qmc

    points: NDArray[np.float64] = qmc.Sobol(d=dimensions, rng=seed).random(2 ** math.ceil(math.log2(size)))
    return points[:size]


def _level_at(levels: Levels, share: float) -> Scalar:
    return levels.interpolate(float(share))
