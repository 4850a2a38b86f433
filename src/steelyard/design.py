"""Which trials come next: pure, from the experiment, the seed and the results so far.

The same file, seed and results give the same trials, so a resumed run is a replay of its journal, and an
extended one is a replay with more levels. Three orders:

- `blocked`: every cell once in random order, then every cell again: a randomised complete block design, in
  which slow drift of the machine falls on all cells alike, and a run cut short has measured all as often;
- `random`: all repetitions of all cells in one random order; what a stop rule adds comes in blocks after it;
- `as-written`: a cell with all its repetitions, then the next cell.

Where services bind cells together (`model.lifetimes`), the order holds within each group of such cells, and
the groups follow each other, in random order unless it is `as-written`.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import TypeVar

from steelyard.model.experiment import Experiment
from steelyard.model.lifetimes import groups
from steelyard.model.method import Until
from steelyard.model.space import cells
from steelyard.model.trial import Cell, Result, Trial
from steelyard.stats.stopping import precise_enough

Item = TypeVar("Item")


class Results:
    """What finished so far, by cell. Append-only; `seconds` is what the trials took altogether."""

    def __init__(self, found: Iterable[Result] = ()) -> None:
        self._by_cell: dict[str, dict[int, Result]] = defaultdict(dict)
        self._precise: dict[str, bool] = {}
        self.seconds = 0.0
        for result in found:
            self.add(result)

    def add(self, result: Result) -> None:
        """Take note of a finished trial; a later one of the same key replaces the earlier."""
        key, repetition = result.trial.key
        self._by_cell[key][repetition] = result
        self._precise.pop(key, None)
        self.seconds += result.seconds

    def has(self, trial: Trial) -> bool:
        """Whether this very trial has finished."""
        return trial.repetition in self._by_cell.get(trial.cell.key, ())

    def of(self, cell: Cell) -> dict[int, Result]:
        """Repetition to result, of one cell."""
        return self._by_cell.get(cell.key, {})

    def precise(self, cell: Cell, until: Until) -> bool:
        """Whether a cell's metric is known as precisely as asked; worked out once for each new result."""
        if cell.key not in self._precise:
            found = (result for result in self.of(cell).values() if result.poolable)
            values = [result.metrics[until.metric] for result in found if until.metric in result.metrics]
            within, confidence = until.within, until.confidence
            enough = values and precise_enough(values, within=within, confidence=confidence).enough
            self._precise[cell.key] = bool(enough)
        return self._precise[cell.key]

    def __iter__(self) -> Iterator[Result]:
        return (result for found in self._by_cell.values() for result in found.values())

    def __len__(self) -> int:
        return sum(map(len, self._by_cell.values()))


class Design:
    """The design of a run. `cells` are all cells in the order of the file, `groups` as services bind them."""

    def __init__(self, experiment: Experiment, seed: int) -> None:
        self.experiment, self.seed = experiment, seed
        self.cells = cells(experiment, seed)
        self.repeat = experiment.repeat
        self._group = ""
        self._divide()

    def among(self, chosen: Sequence[Cell]) -> Design:
        """The same design for some of its cells, as if there were no others."""
        found = copy(self)
        found.cells = tuple(chosen)
        found._divide()
        return found

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
        if self.repeat.until is None:
            return (len(self.cells) * self.repeat.at_least,) * 2
        least = most = 0
        for cell in self.cells:
            done = len(results.of(cell))
            open_ended = self._wants(cell, results)
            least += max(done + open_ended, self.repeat.at_least)
            most += self.repeat.at_most if open_ended else done
        return least, most

    def _batch(self, results: Results) -> Sequence[Trial]:
        batches = (part._in_order(results) for part in self._parts)
        return next(filter(None, batches), ())

    def _divide(self) -> None:
        """Find the groups, and make a design for each, in the order in which they are measured."""
        self.groups = groups(self.experiment, self.cells)
        at = range(len(self.groups))
        order = at if self.experiment.order == "as-written" else self._shuffled(at, "groups")
        self._parts = [self._part(self.groups[number]) for number in order] if len(at) > 1 else [self]

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
        """The cells that were measured least often among those that want more, shuffled."""
        done = {at: len(results.of(cell)) for at, cell in enumerate(self.cells) if self._wants(cell, results)}
        if not done:
            return ()
        lowest = min(done.values())
        order = self._shuffled(range(len(self.cells)), f"block {lowest}")
        block = [self.cells[at] for at in order if done.get(at) == lowest]
        return [Trial(cell, self._free(cell, results)) for cell in block]

    def _all_at_once(self, results: Results) -> Sequence[Trial]:
        numbers = range(1, self.repeat.at_least + 1)
        every = [Trial(cell, number) for cell in self.cells for number in numbers]
        return [trial for trial in self._shuffled(every, "all") if not results.has(trial)]

    def _one_cell(self, results: Results) -> Sequence[Trial]:
        if self.repeat.until is None:
            return [trial for cell in self.cells for trial in self._missing(cell, results)]
        for cell in self.cells:
            if missing := self._missing(cell, results):
                return missing
            if self._wants(cell, results):
                return [Trial(cell, self._free(cell, results))]
        return ()

    def _missing(self, cell: Cell, results: Results) -> list[Trial]:
        done = results.of(cell)
        return [Trial(cell, number) for number in range(1, self.repeat.at_least + 1) if number not in done]

    def _wants(self, cell: Cell, results: Results) -> bool:
        done = results.of(cell)
        if len(done) < self.repeat.at_least:
            return True
        until = self.repeat.until
        if until is None or len(done) >= self.repeat.at_most:
            return False
        return not results.precise(cell, until)

    def _free(self, cell: Cell, results: Results) -> int:
        done = results.of(cell)
        if max(done, default=0) == len(done):
            return len(done) + 1
        return next(number for number in range(1, len(done) + 2) if number not in done)

    def _shuffled(self, items: Sequence[Item], what: str) -> list[Item]:
        shuffled = list(items)
        random.Random(f"{self.seed} {self._group}{what}").shuffle(shuffled)
        return shuffled
