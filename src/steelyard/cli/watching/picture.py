"""The picture of a run in a terminal: a sentence, the cells filling, the current trial, the newest notes."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from steelyard.cli.watching.samples import LiveSeries
from steelyard.cli.watching.state import CellProgress, RunState
from steelyard.model.trial import show_level
from steelyard.stats.interval import median_interval
from steelyard.stats.sample import median
from steelyard.units import show, show_span

BARS = "▁▂▃▄▅▆▇█"
_BAR = 10
_FEWEST_ROWS = 3
_FRAME = 8  # lines of the picture beside the cells


def draw_run(state: RunState, lines: Sequence[LiveSeries], *, width: int, height: int) -> RenderableType:
    """Everything, in at most so many columns and rows."""
    rows = max(_FEWEST_ROWS, height - _FRAME - len(lines) - len(state.notes))
    parts: list[RenderableType] = [Text(describe_run(state), style="bold", no_wrap=True, overflow="ellipsis")]
    parts.append(_draw_cells(state, rows))
    if state.trial:
        ago = show_span(time.time() - state.trial.since)
        parts.append(Text(f"now  {state.trial.label}  for {ago}", no_wrap=True, overflow="ellipsis"))
    parts += [Text(draw_line(line, width), no_wrap=True, overflow="crop") for line in lines]
    parts += [Text(note, style="dim", no_wrap=True, overflow="ellipsis") for note in state.notes]
    return Group(*parts)


def describe_run(state: RunState) -> str:
    """`disk-p99  running 2:10  7 of 24 trials, 1 failed, 5:10 left`."""
    least, most = state.count_wanted()
    count = f"{state.done} of {least}{' or more' if most > least else ''} trials"
    failed = f", {state.failed} failed" if state.failed else ""
    elapsed = time.time() - state.since if state.since else 0.0
    left = ""
    here = state.done - state.done_before
    if state.state == "running" and here and state.done < least:
        left = f", {show_span(elapsed / here * (least - state.done))} left"
    return f"{state.title}  {state.state} {show_span(elapsed)}  {count}{failed}{left}"


def draw_line(line: LiveSeries, width: int) -> str:
    """`throughput ▁▂▄█▆ 12.3 k/s`: the newest values as bars between the smallest and the largest."""
    newest = show(line.values[-1], line.unit)
    room = max(1, width - len(line.label) - len(newest) - 2)
    return f"{line.label} {draw_bars(line.values[-room:])} {newest}"


def draw_bars(values: Sequence[float]) -> str:
    """A bar for each value; all alike where the values are."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(BARS[min(len(BARS) - 1, int((value - low) / span * len(BARS)))] for value in values)


def _draw_cells(state: RunState, rows: int) -> RenderableType:
    """What a cell has comes whole; its name gets what room is left."""
    chosen = _choose_rows(state, rows)
    heads = ("done", f"{state.metric.name if state.metric else ''} [95 %]", "left out")
    texts = [(_draw_progress(one, state.wanted), _show_figure(one, state), _left_out(one)) for one in chosen]
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(" ".join(chosen[0].cell.parameters) if chosen else "", no_wrap=True, overflow="ellipsis")
    for place, head in enumerate(heads):
        table.add_column(head, no_wrap=True, min_width=max(len(row[place]) for row in (heads, *texts)))
    for one, row in zip(chosen, texts, strict=True):
        table.add_row(" ".join(map(show_level, one.cell.parameters.values())), *row)
    hidden = len(state.cells) - min(rows, len(state.cells))
    return Group(table, Text(f"{hidden} more cells", style="dim")) if hidden else table


def _choose_rows(state: RunState, rows: int) -> list[CellProgress]:
    """All where they fit; else those around the first that is not done."""
    cells = list(state.cells.values())
    first = next((at for at, cell in enumerate(cells) if cell.counted < state.wanted), len(cells))
    start = max(0, min(first - rows // 2, len(cells) - rows))
    return cells[start : start + rows]


def _draw_progress(cell: CellProgress, wanted: int) -> str:
    share = min(1.0, cell.counted / wanted) if wanted else 1.0
    full = int(share * _BAR)
    return f"{'█' * full}{'░' * (_BAR - full)} {cell.counted}"


def _show_figure(cell: CellProgress, state: RunState) -> str:
    if state.metric is None or not (cell.figures or cell.doubtful):
        return "–"
    if not cell.figures:
        return f"({show(median(cell.doubtful), state.metric.unit)})"
    unit, interval = state.metric.unit, median_interval(cell.figures)
    ends = f"{show(interval.low, unit)}, {show(interval.high, unit)}" if interval else "–"
    return f"{show(median(cell.figures), unit)} [{ends}]"


def _left_out(cell: CellProgress) -> str:
    counts = (f"{cell.failed} failed" if cell.failed else "", f"{cell.marked} marked" if cell.marked else "")
    return ", ".join(filter(None, counts))
