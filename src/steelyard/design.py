"""Which trials come next: pure, from the experiment, the seed and the results so far.

The same file, seed and results give the same trials, so a resumed run is a replay of its journal, and an
extended one is a replay with more levels. Three orders:

- `blocked`: every cell once in random order, then every cell again: a randomised complete block design, in
  which slow drift of the machine falls on all cells alike, and a run cut short has measured all as often;
- `random`: all repetitions of all cells in one random order; what a stop rule adds comes in blocks after it;
- `as-written`: a cell with all its repetitions, then the next cell.

With `disturbed: replace` a trial that something else disturbed is made again, whatever its figures, as a
further repetition of its cell, until as many count as were asked for or there are `AGAIN` times as many. It
comes in blocks: cells of which fewest trials count come first, but none gets more than `AGAIN` trials in the
time of a block, or a burst of a few seconds would use up what a cell may have. With `random` and `as-written`
these blocks follow the planned trials.

Where services bind cells together (`model.lifetimes`), the order holds within each group of such cells, and
the groups follow each other, in random order unless it is `as-written`.

With `find` the cells come into being as the search goes on (`model.keys.find`). All searches of a group go
step by step: a step is a design of its own, whose cells are the levels that the searches have come to, in
the order above; `as-written` makes one search after the other.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import TypeVar

from steelyard.model.experiment import Experiment
from steelyard.model.keys.find import Search, SearchGoal, searches
from steelyard.model.keys.method import Repeat, Until
from steelyard.model.keys.walk import Walk
from steelyard.model.lifetimes import group_cells
from steelyard.model.space import cells
from steelyard.model.trial import Cell, Result, Trial
from steelyard.stats.condition import AGAIN, SearchRule, is_precise
from steelyard.stats.knee_rule import KneeRule

Item = TypeVar("Item")


class Results:
    """What finished so far, by cell. Append-only; `seconds` is what the trials took altogether."""

    def __init__(self, found: Iterable[Result] = ()) -> None:
        self._by_cell: dict[str, dict[int, Result]] = defaultdict(dict)
        self._precise: dict[str, bool] = {}
        self._met: dict[tuple[tuple[str, int], ...], bool | None] = {}
        self._counts: dict[str, int] = defaultdict(int)
        self._free: dict[str, int] = defaultdict(lambda: 1)
        self._disturbed: dict[str, set[int]] = defaultdict(set)
        self.seconds = 0.0
        for result in found:
            self.add(result)

    def add(self, result: Result) -> None:
        """Take note of a finished trial; a later one of the same key replaces the earlier."""
        key, repetition = result.trial.key
        done = self._by_cell[key]
        done[repetition] = result
        if result.is_disturbed:
            self._disturbed[key].add(repetition)
        elif key in self._disturbed:
            self._disturbed[key].discard(repetition)
        while self._free[key] in done:
            self._free[key] += 1
        self._precise.pop(key, None)
        self._counts[key] += 1
        self.seconds += result.seconds

    @property
    def failed(self) -> int:
        """How many trials failed."""
        return sum(result.status == "failed" for result in self)

    def has(self, trial: Trial) -> bool:
        """Whether this very trial has finished."""
        return trial.repetition in self._by_cell.get(trial.cell.key, ())

    def cell_results(self, cell: Cell) -> dict[int, Result]:
        """Repetition to result, of one cell."""
        return self._by_cell.get(cell.key, {})

    def next_repetition(self, cell: Cell) -> int:
        """The first repetition of a cell that has not finished."""
        return self._free.get(cell.key, 1)

    def count_undisturbed(self, cell: Cell) -> int:
        """How many trials of a cell need not be made again; failures are among them."""
        return len(self.cell_results(cell)) - len(self._disturbed.get(cell.key, ()))

    def iter_disturbed(self) -> Iterator[tuple[str, int, int]]:
        """The key of each cell that was disturbed, how many trials it has, and how many of them were not."""
        for key, disturbed in self._disturbed.items():
            yield key, len(self._by_cell[key]), len(self._by_cell[key]) - len(disturbed)

    def is_precise(self, cell: Cell, until: Until) -> bool:
        """Whether a cell's metric is known as precisely as asked; worked out once for each new result."""
        if cell.key not in self._precise:
            self._precise[cell.key] = is_precise(until, self.cell_results(cell).values())
        return self._precise[cell.key]

    def is_met(self, *cells: Cell, rule: SearchRule | KneeRule) -> bool | None:
        """Whether a level of a search holds; None while it is measured. Worked out once for each result.

        A knee's level is judged with others, see `knee_walk`.
        """
        state = tuple((cell.key, self._counts.get(cell.key, 0)) for cell in cells)
        if state not in self._met:
            self._met[state] = rule.is_met(*(self.cell_results(cell).values() for cell in cells))
        return self._met[state]

    def __iter__(self) -> Iterator[Result]:
        return (result for repetitions in self._by_cell.values() for result in repetitions.values())

    def __len__(self) -> int:
        return sum(map(len, self._by_cell.values()))


class Design:
    """The design of a run. `cells` are all cells in the order of the file, `groups` as services bind them.

    With `find`, which is then `search_goal`, `cells` are those at the bounds of each search, and the groups
    are of the first cells of searches.
    """

    def __init__(self, experiment: Experiment, seed: int) -> None:
        self.experiment, self.seed = experiment, seed
        self.cells = cells(experiment, seed)
        self.repeat, find = experiment.repeat, experiment.find
        self.replaces = experiment.disturbed == "replace"
        self.search_goal = SearchGoal.from_file(find, experiment.parameters) if find else None
        self._rule = _search_rule(self.search_goal, self.repeat) if self.search_goal else None
        self._current: frozenset[str] = frozenset()
        self._searching = find is not None
        self._group = ""
        self._divide()

    def restrict(self, options: Sequence[Cell]) -> Design:
        """The same design for some of its cells, as if there were no others; a search is taken whole."""
        part = copy(self)
        ends = [cell for search in self._searches(options) for cell in search.ends]
        part.cells = tuple(ends if self._searching else options)
        part._divide()
        return part

    @property
    def searches(self) -> tuple[Search, ...]:
        """One for each combination of the other parameters; none without `find`."""
        return self._searches(self.cells)

    def next(self, results: Results) -> Sequence[Trial]:
        """The trials to be made now, in order; empty when the run is complete or its budget spent.

        With a budget it is one trial, because each may be the last.
        """
        if self.is_out_of_budget(results):
            return ()
        batch = self._batch(results)
        return batch[:1] if self.repeat.budget is not None else batch

    def is_out_of_budget(self, results: Results) -> bool:
        """Whether `repeat.budget` is spent."""
        return self.repeat.budget is not None and results.seconds >= self.repeat.budget

    def count_trials(self, results: Results) -> tuple[int, int]:
        """How many trials the whole run has at least and at most, going by the results so far."""
        if self._searching:
            return self._count_search_trials(results)
        if self.repeat.until is None:
            return self._count_fixed_trials(results)
        least = most = 0
        for cell in self.cells:
            made = len(results.cell_results(cell))
            wanted = self._is_unfinished(cell, results)
            owed = max(wanted, self.repeat.at_least - self._count_valid(cell, results)) if wanted else 0
            least += min(made + owed, self._max_trials)
            most += self._max_trials if wanted else made
        return least, most

    def _count_fixed_trials(self, results: Results) -> tuple[int, int]:
        """Asked for after each trial: only cells that were disturbed are looked at."""
        asked = self.repeat.at_least
        planned = len(self.cells) * asked
        if not self.replaces:
            return planned, planned
        ours = ((made, good) for key, made, good in results.iter_disturbed() if key in self._keys)
        least = planned + sum(
            min(made + max(0, asked - good), self._max_trials) - asked for made, good in ours
        )
        return least, planned * AGAIN if len(results) < least else least

    def _count_search_trials(self, results: Results) -> tuple[int, int]:
        """What was made, even where the search would not go there again; and what each search may come to.

        As long as all trials count; those that say nothing of their level are made again.
        """
        least = most = len(results)
        for search, walk in self._walks(results):
            if walk.current is None:
                continue
            done = (
                self._rule.count_repetitions(results.cell_results(search.cell_at(walk.current)).values())
                if self._rule
                else 0
            )
            probes = search.bounds.count_left(walk)
            least += max(self.repeat.at_least - done, 1) + (probes[0] - 1) * self.repeat.at_least
            most += self.repeat.at_most * probes[1] - done
        return least, most

    def _batch(self, results: Results) -> Sequence[Trial]:
        batches = (
            part._next_step(results) if self._searching else part._select_trials(results)
            for part in self._parts
        )
        return next(filter(None, batches), ())

    def _next_step(self, results: Results) -> Sequence[Trial]:
        """The trials of the earliest step that any of the searches is at; those ahead of it wait."""
        walks = self._walks(results)
        step = min((len(walk.finished_levels) for _, walk in walks if walk.current is not None), default=None)
        if step is None:
            return ()
        here = copy(self)
        here.cells = tuple(
            search.cell_at(walk.levels[step]) for search, walk in walks if step < len(walk.levels)
        )
        here._current = frozenset(
            search.cell_at(walk.current).key for search, walk in walks if walk.current is not None
        )
        here._searching, here._group = False, f"{self._group}step {step} "
        here._divide()
        return here._batch(results)

    def _walks(self, results: Results) -> list[tuple[Search, Walk]]:
        """How far each search has come."""
        rule = self._rule
        return [(one, one.walk(partial(results.is_met, rule=rule))) for one in self.searches] if rule else []

    def _searches(self, of: Iterable[Cell]) -> tuple[Search, ...]:
        return searches(self.search_goal, of) if self.search_goal else ()

    def _divide(self) -> None:
        """Find the groups, and make a design for each, in the order in which they are measured."""
        units = tuple(one.first for one in self.searches) if self._searching else self.cells
        self.groups = group_cells(self.experiment, units)
        self._keys = frozenset(cell.key for cell in self.cells)
        in_order = self.experiment.order == "as-written"
        parts = self.groups
        if self._searching and in_order:
            parts = tuple((cell,) for group in self.groups for cell in group)
        at = range(len(parts))
        order = at if in_order else self._shuffle(at, "groups")
        self._parts = [self._part(parts[number]) for number in order] if len(at) > 1 else [self]

    def _part(self, group: tuple[Cell, ...]) -> Design:
        part = copy(self)
        part.cells, part._group = group, f"group {group[0].key} "
        return part

    def _select_trials(self, results: Results) -> Sequence[Trial]:
        match self.experiment.order:
            case "as-written":
                return self._sequential_trials(results)
            case "random":
                return self._random_trials(results) or self._block(results)
        return self._block(results)

    def _block(self, results: Results) -> Sequence[Trial]:
        """The cells that are furthest behind among those that want more, shuffled."""
        done = {
            at: self._progress(cell, results)
            for at, cell in enumerate(self.cells)
            if self._is_unfinished(cell, results)
        }
        if not done:
            return ()
        lowest = min(done.values())
        order = self._shuffle(range(len(self.cells)), f"block {lowest[1]}")
        block = [self.cells[at] for at in order if done.get(at) == lowest]
        return [Trial(cell, results.next_repetition(cell)) for cell in block]

    def _progress(self, cell: Cell, results: Results) -> tuple[int, int]:
        """Which block a cell is at, and how many trials it has: a trial never brings it back."""
        made = len(results.cell_results(cell))
        return max(self._count_valid(cell, results), made // AGAIN), made

    def _count_valid(self, cell: Cell, results: Results) -> int:
        """How many trials of a cell are not made again."""
        return results.count_undisturbed(cell) if self.replaces else len(results.cell_results(cell))

    @property
    def _max_trials(self) -> int:
        """How many trials a cell gets at most."""
        return self.repeat.at_most * (AGAIN if self.replaces else 1)

    def _random_trials(self, results: Results) -> Sequence[Trial]:
        numbers = range(1, self.repeat.at_least + 1)
        every = [Trial(cell, number) for cell in self.cells for number in numbers]
        return [trial for trial in self._shuffle(every, "all") if not results.has(trial)]

    def _sequential_trials(self, results: Results) -> Sequence[Trial]:
        if self.repeat.until is None and self._rule is None:
            planned = [trial for cell in self.cells for trial in self._missing_trials(cell, results)]
            return planned or self._block(results)
        for cell in self.cells:
            if missing := self._missing_trials(cell, results):
                return missing
            if self._is_unfinished(cell, results):
                return [Trial(cell, results.next_repetition(cell))]
        return ()

    def _missing_trials(self, cell: Cell, results: Results) -> list[Trial]:
        done = results.cell_results(cell)
        return [Trial(cell, number) for number in range(1, self.repeat.at_least + 1) if number not in done]

    def _is_unfinished(self, cell: Cell, results: Results) -> bool:
        made, standing = len(results.cell_results(cell)), self._count_valid(cell, results)
        if made < self.repeat.at_least:
            return True
        if self._rule:
            return cell.key in self._current
        if made >= self._max_trials or standing < self.repeat.at_least:
            return made < self._max_trials
        until = self.repeat.until
        if until is None or standing >= self.repeat.at_most:
            return False
        return not results.is_precise(cell, until)

    def _shuffle(self, items: Sequence[Item], what: str) -> list[Item]:
        shuffled = list(items)
        random.Random(f"{self.seed} {self._group}{what}").shuffle(shuffled)
        return shuffled


def _search_rule(goal: SearchGoal, repeat: Repeat) -> SearchRule | KneeRule:
    if goal.requirement is None:
        return KneeRule(goal.metric, goal.tolerance, repeat)
    return SearchRule(goal.requirement, repeat)
