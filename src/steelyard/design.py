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

With `find` the cells come into being as the search goes on (`model.find`). All searches of a group go step by
step: a step is a design of its own, whose cells are the levels that the searches have come to, in the order
above; `as-written` makes one search after the other.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import TypeVar

from steelyard.model.experiment import Experiment
from steelyard.model.find import Search, SearchGoal, Walk, searches
from steelyard.model.lifetimes import group_cells
from steelyard.model.method import Until
from steelyard.model.space import cells
from steelyard.model.trial import Cell, Result, Trial
from steelyard.stats.condition import AGAIN, SearchRule, is_precise

Item = TypeVar("Item")


class Results:
    """What finished so far, by cell. Append-only; `seconds` is what the trials took altogether."""

    def __init__(self, found: Iterable[Result] = ()) -> None:
        self._by_cell: dict[str, dict[int, Result]] = defaultdict(dict)
        self._precise: dict[str, bool] = {}
        self._met: dict[str, bool | None] = {}
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
        if result.disturbed:
            self._disturbed[key].add(repetition)
        elif key in self._disturbed:
            self._disturbed[key].discard(repetition)
        while self._free[key] in done:
            self._free[key] += 1
        self._precise.pop(key, None)
        self._met.pop(key, None)
        self.seconds += result.seconds

    def has(self, trial: Trial) -> bool:
        """Whether this very trial has finished."""
        return trial.repetition in self._by_cell.get(trial.cell.key, ())

    def of(self, cell: Cell) -> dict[int, Result]:
        """Repetition to result, of one cell."""
        return self._by_cell.get(cell.key, {})

    def free(self, cell: Cell) -> int:
        """The first repetition of a cell that has not finished."""
        return self._free.get(cell.key, 1)

    def undisturbed(self, cell: Cell) -> int:
        """How many trials of a cell need not be made again; failures are among them."""
        return len(self.of(cell)) - len(self._disturbed.get(cell.key, ()))

    def hit(self) -> Iterator[tuple[str, int, int]]:
        """The key of each cell that was disturbed, how many trials it has, and how many of them were not."""
        for key, disturbed in self._disturbed.items():
            yield key, len(self._by_cell[key]), len(self._by_cell[key]) - len(disturbed)

    def precise(self, cell: Cell, until: Until) -> bool:
        """Whether a cell's metric is known as precisely as asked; worked out once for each new result."""
        if cell.key not in self._precise:
            self._precise[cell.key] = is_precise(until, self.of(cell).values())
        return self._precise[cell.key]

    def met(self, cell: Cell, rule: SearchRule) -> bool | None:
        """Whether a level of a search holds; None while it is measured. Worked out once for each result."""
        if cell.key not in self._met:
            self._met[cell.key] = rule.met(self.of(cell).values())
        return self._met[cell.key]

    def __iter__(self) -> Iterator[Result]:
        return (result for repetitions in self._by_cell.values() for result in repetitions.values())

    def __len__(self) -> int:
        return sum(map(len, self._by_cell.values()))


class Design:
    """The design of a run. `cells` are all cells in the order of the file, `groups` as services bind them.

    With `find`, which is then `sought`, `cells` are those at the bounds of each search, and the groups are of
    the first cells of searches.
    """

    def __init__(self, experiment: Experiment, seed: int) -> None:
        self.experiment, self.seed = experiment, seed
        self.cells = cells(experiment, seed)
        self.repeat, find = experiment.repeat, experiment.find
        self.replaces = experiment.disturbed == "replace"
        self.sought = SearchGoal.of(find, experiment.parameters) if find else None
        self._rule = SearchRule(find.requirement, self.repeat) if find else None
        self._searching = find is not None
        self._group = ""
        self._divide()

    def among(self, chosen: Sequence[Cell]) -> Design:
        """The same design for some of its cells, as if there were no others; a search is taken whole."""
        part = copy(self)
        ends = [cell for search in self._searches(chosen) for cell in search.ends]
        part.cells = tuple(ends if self._searching else chosen)
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
        if self.out_of_budget(results):
            return ()
        batch = self._batch(results)
        return batch[:1] if self.repeat.budget is not None else batch

    def out_of_budget(self, results: Results) -> bool:
        """Whether `repeat.budget` is spent."""
        return self.repeat.budget is not None and results.seconds >= self.repeat.budget

    def expected(self, results: Results) -> tuple[int, int]:
        """How many trials the whole run has at least and at most, going by the results so far."""
        if self._searching:
            return self._expected_of_searches(results)
        if self.repeat.until is None:
            return self._expected_of_fixed(results)
        least = most = 0
        for cell in self.cells:
            made = len(results.of(cell))
            wanted = self._wants(cell, results)
            owed = max(wanted, self.repeat.at_least - self._standing(cell, results)) if wanted else 0
            least += min(made + owed, self._most)
            most += self._most if wanted else made
        return least, most

    def _expected_of_fixed(self, results: Results) -> tuple[int, int]:
        """Asked for after each trial: only cells that were disturbed are looked at."""
        asked = self.repeat.at_least
        planned = len(self.cells) * asked
        if not self.replaces:
            return planned, planned
        ours = ((made, good) for key, made, good in results.hit() if key in self._keys)
        least = planned + sum(min(made + max(0, asked - good), self._most) - asked for made, good in ours)
        return least, planned * AGAIN if len(results) < least else least

    def _expected_of_searches(self, results: Results) -> tuple[int, int]:
        """What was made, even where the search would not go there again; and what each search may come to.

        As long as all trials count; those that say nothing of their level are made again.
        """
        least = most = len(results)
        for search, walk in self._walks(results):
            if walk.current is None:
                continue
            done = self._rule.counted(results.of(search.at(walk.current)).values()) if self._rule else 0
            probes = search.bounds.probes(walk.below, walk.above)
            least += max(self.repeat.at_least - done, 1) + (probes[0] - 1) * self.repeat.at_least
            most += self.repeat.at_most * probes[1] - done
        return least, most

    def _batch(self, results: Results) -> Sequence[Trial]:
        batches = (
            part._next_step(results) if self._searching else part._in_order(results) for part in self._parts
        )
        return next(filter(None, batches), ())

    def _next_step(self, results: Results) -> Sequence[Trial]:
        """The trials of the earliest step that any of the searches is at; those ahead of it wait."""
        walks = self._walks(results)
        step = min((len(walk.settled) for _, walk in walks if walk.current is not None), default=None)
        if step is None:
            return ()
        here = copy(self)
        here.cells = tuple(search.at(walk.levels[step]) for search, walk in walks if step < len(walk.levels))
        here._searching, here._group = False, f"{self._group}step {step} "
        here._divide()
        return here._batch(results)

    def _walks(self, results: Results) -> list[tuple[Search, Walk]]:
        """How far each search has come."""
        rule = self._rule
        return [(one, one.walk(partial(results.met, rule=rule))) for one in self.searches] if rule else []

    def _searches(self, of: Iterable[Cell]) -> tuple[Search, ...]:
        return searches(self.sought, of) if self.sought else ()

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
        order = at if in_order else self._shuffled(at, "groups")
        self._parts = [self._part(parts[number]) for number in order] if len(at) > 1 else [self]

    def _part(self, group: tuple[Cell, ...]) -> Design:
        part = copy(self)
        part.cells, part._group = group, f"group {group[0].key} "
        return part

    def _in_order(self, results: Results) -> Sequence[Trial]:
        match self.experiment.order:
            case "as-written":
                return self._one_cell(results)
            case "random":
                return self._all_at_once(results) or self._block(results)
        return self._block(results)

    def _block(self, results: Results) -> Sequence[Trial]:
        """The cells that are furthest behind among those that want more, shuffled."""
        done = {
            at: self._progress(cell, results)
            for at, cell in enumerate(self.cells)
            if self._wants(cell, results)
        }
        if not done:
            return ()
        lowest = min(done.values())
        order = self._shuffled(range(len(self.cells)), f"block {lowest[1]}")
        block = [self.cells[at] for at in order if done.get(at) == lowest]
        return [Trial(cell, results.free(cell)) for cell in block]

    def _progress(self, cell: Cell, results: Results) -> tuple[int, int]:
        """Which block a cell is at, and how many trials it has: a trial never brings it back."""
        made = len(results.of(cell))
        return max(self._standing(cell, results), made // AGAIN), made

    def _standing(self, cell: Cell, results: Results) -> int:
        """How many trials of a cell are not made again."""
        return results.undisturbed(cell) if self.replaces else len(results.of(cell))

    @property
    def _most(self) -> int:
        """How many trials a cell gets at most."""
        return self.repeat.at_most * (AGAIN if self.replaces else 1)

    def _all_at_once(self, results: Results) -> Sequence[Trial]:
        numbers = range(1, self.repeat.at_least + 1)
        every = [Trial(cell, number) for cell in self.cells for number in numbers]
        return [trial for trial in self._shuffled(every, "all") if not results.has(trial)]

    def _one_cell(self, results: Results) -> Sequence[Trial]:
        if self.repeat.until is None and self._rule is None:
            planned = [trial for cell in self.cells for trial in self._missing(cell, results)]
            return planned or self._block(results)
        for cell in self.cells:
            if missing := self._missing(cell, results):
                return missing
            if self._wants(cell, results):
                return [Trial(cell, results.free(cell))]
        return ()

    def _missing(self, cell: Cell, results: Results) -> list[Trial]:
        done = results.of(cell)
        return [Trial(cell, number) for number in range(1, self.repeat.at_least + 1) if number not in done]

    def _wants(self, cell: Cell, results: Results) -> bool:
        made, standing = len(results.of(cell)), self._standing(cell, results)
        if made < self.repeat.at_least:
            return True
        if self._rule:
            return results.met(cell, self._rule) is None
        if made >= self._most or standing < self.repeat.at_least:
            return made < self._most
        until = self.repeat.until
        if until is None or standing >= self.repeat.at_most:
            return False
        return not results.precise(cell, until)

    def _shuffled(self, items: Sequence[Item], what: str) -> list[Item]:
        shuffled = list(items)
        random.Random(f"{self.seed} {self._group}{what}").shuffle(shuffled)
        return shuffled
