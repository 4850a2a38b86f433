"""How far a run is, and each of its cells: the same words in a terminal and in a browser."""

from __future__ import annotations

import time
from typing import NamedTuple

from steelyard.model.trial import show_level
from steelyard.stats.interval import median_interval
from steelyard.stats.sample import median
from steelyard.units import show, show_span
from steelyard.watching.state import CellProgress, RunState


class RunProgress(NamedTuple):
    """`trials`: `7 of 24 trials, 1 failed`; `left`: seconds that are left, as far as one can tell."""

    trials: str
    elapsed: float
    left: float | None

    @property
    def remainder(self) -> str:
        """`5:10 left`; empty where one cannot tell."""
        return "" if self.left is None else f"{show_span(self.left)} left"


class CellView(NamedTuple):
    """A cell's row. `share`: of its repetitions, from 0 to 1; `figure`: its median with its interval, in
    brackets where no trial counts; `precision`: the half of its interval, of what was asked for.
    """

    levels: tuple[str, ...]
    counted: int
    share: float
    figure: str
    precision: str
    left_out: str


def measure_progress(state: RunState) -> RunProgress:
    """How far it is, at this moment."""
    least, most = state.count_wanted()
    count = f"{state.done} of {least}{' or more' if most > least else ''} trials"
    failed = f", {state.failed} failed" if state.failed else ""
    elapsed = (state.ended or time.time()) - state.since if state.since else 0.0
    here = state.done - state.done_before
    known = state.state == "running" and here and state.done < least
    return RunProgress(count + failed, elapsed, elapsed / here * (least - state.done) if known else None)


def describe_cell(one: CellProgress, state: RunState) -> CellView:
    """What there is of a cell so far."""
    share = min(1.0, one.counted / state.wanted) if state.wanted else 1.0
    counts = (f"{one.failed} failed" if one.failed else "", f"{one.marked} marked" if one.marked else "")
    levels = tuple(map(show_level, one.cell.parameters.values()))
    figure, precision = _show_figure(one, state), _show_precision(one, state)
    return CellView(levels, one.counted, share, figure, precision, ", ".join(filter(None, counts)))


def _show_figure(cell: CellProgress, state: RunState) -> str:
    if state.metric is None or not (cell.figures or cell.doubtful):
        return "–"
    if not cell.figures:
        return f"({show(median(cell.doubtful), state.metric.unit)})"
    unit, interval = state.metric.unit, median_interval(cell.figures)
    ends = f"{show(interval.low, unit)}, {show(interval.high, unit)}" if interval else "–"
    return f"{show(median(cell.figures), unit)} [{ends}]"


def _show_precision(cell: CellProgress, state: RunState) -> str:
    """`±3.1 % of 2 %`: what the interval has come to, and what was asked for."""
    interval = median_interval(cell.figures) if cell.figures else None
    middle = median(cell.figures) if cell.figures else 0.0
    if interval is None or not middle:
        return ""
    half = (interval.high - interval.low) / 2 / abs(middle)
    asked = "" if state.within is None else f" of {100 * state.within:.3g} %"
    return f"±{100 * half:.2g} %{asked}"
