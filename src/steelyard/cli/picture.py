"""The picture of a run in a terminal: a sentence, the cells filling, the current trial, the newest notes."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from steelyard.report.bars import draw_sparkline
from steelyard.units import show, show_span
from steelyard.watching.progress import CellView, describe_cell, measure_progress
from steelyard.watching.samples import LiveSeries
from steelyard.watching.state import CellProgress, RunState

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
    now = measure_progress(state)
    told = ", ".join(filter(None, (now.trials, now.remainder)))
    return f"{state.title}  {state.state} {show_span(now.elapsed)}  {told}"


def draw_line(line: LiveSeries, width: int) -> str:
    """`throughput ▁▂▄█▆ 12.3 k/s`: the newest values as bars between the smallest and the largest."""
    newest = show(line.values[-1], line.unit)
    room = max(1, width - len(line.label) - len(newest) - 2)
    return f"{line.label} {draw_sparkline(line.values[-room:])} {newest}"


def _draw_cells(state: RunState, rows: int) -> RenderableType:
    """What a cell has comes whole; its name gets what room is left."""
    chosen = _choose_rows(state, rows)
    heads = ("done", f"{state.metric.name if state.metric else ''} [95 %]", "left out")
    views = [describe_cell(one, state) for one in chosen]
    texts = [(_draw_progress(view), view.figure, view.left_out) for view in views]
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(" ".join(chosen[0].cell.parameters) if chosen else "", no_wrap=True, overflow="ellipsis")
    for place, head in enumerate(heads):
        table.add_column(head, no_wrap=True, min_width=max(len(row[place]) for row in (heads, *texts)))
    for view, row in zip(views, texts, strict=True):
        table.add_row(" ".join(view.levels), *row)
    hidden = len(state.cells) - min(rows, len(state.cells))
    return Group(table, Text(f"{hidden} more cells", style="dim")) if hidden else table


def _choose_rows(state: RunState, rows: int) -> list[CellProgress]:
    """All where they fit; else those around the first that is not done."""
    cells = list(state.cells.values())
    first = next((at for at, cell in enumerate(cells) if cell.counted < state.wanted), len(cells))
    start = max(0, min(first - rows // 2, len(cells) - rows))
    return cells[start : start + rows]


def _draw_progress(cell: CellView) -> str:
    full = int(cell.share * _BAR)
    return f"{'█' * full}{'░' * (_BAR - full)} {cell.counted}"
