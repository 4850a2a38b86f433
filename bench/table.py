"""Results as a table on the terminal."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.row import Row, Unit
from steelyard.units import show

STYLES = {"within": "green", "not within": "red", "not measured": "yellow", "no limit": "dim"}
WIDE = 130  # characters, where there is no terminal to ask


def print_table(rows: Sequence[Row], console: Console) -> None:
    """Print the rows, a part for each benchmark, and below them the notes."""
    if not console.is_terminal:
        console.width = WIDE
    table = Table(box=box.SIMPLE_HEAD, title="Steelyard itself: median, least … most", title_justify="left")
    table.add_column("what", ratio=3)
    table.add_column("ours", justify="right")
    table.add_column("beside it", ratio=2)
    for head in ("theirs", "ratio", "limit"):
        table.add_column(head, justify="right")
    table.add_column("verdict")
    for name, part in itertools.groupby(rows, key=lambda row: row.name):
        _add_part(table, name, list(part))
    console.print(table)
    for row in rows:
        if row.note:
            console.print(f"{row.what}: {row.note}", markup=False, highlight=False)


def _add_part(table: Table, name: str, rows: Sequence[Row]) -> None:
    foreign = rows[0].foreign
    others = "" if foreign is None else f"others took {show(foreign, '%', digits=2)} of the cores"
    table.add_row(f"[bold]{name}", "", f"[dim]{others}")
    for row in rows:
        verdict = f"[{STYLES[row.verdict]}]{row.verdict}"
        table.add_row(*map(escape, cells(row)), verdict)
    table.add_section()


def cells(row: Row) -> tuple[str, ...]:
    """The texts of a row, but for the verdict."""
    return (
        row.what,
        figures(row.ours, row.unit),
        row.beside,
        figures(row.theirs, row.unit) if row.beside else "",
        "" if row.ratio is None else f"{row.ratio:.3g} x",
        "\n".join(limits(row)),
    )


def limits(row: Row) -> Iterator[str]:
    """What the figure, and the ratio, may be at most."""
    if row.limit is not None:
        yield show(row.limit, row.unit)
    if row.most is not None:
        yield f"{row.most:.3g} x"


def figures(values: Sequence[float], unit: Unit) -> str:
    """The median, and below it the spread where there is one."""
    if not values:
        return "-"
    median = show(statistics.median(values), unit)
    if min(values) == max(values):
        return median
    return f"{median}\n{show(min(values), unit)} … {show(max(values), unit)}"
