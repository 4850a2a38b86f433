"""The table says what was measured, in words."""

from __future__ import annotations

import io

import pytest
from bench.row import Row
from bench.table import WIDE, cells, figures, print_table
from rich.console import Console


def printed(rows: list[Row]) -> str:
    stream = io.StringIO()
    print_table(rows, Console(file=stream, width=40))
    return stream.getvalue()


def test_a_row_in_full() -> None:
    row = Row("trial", "a trial", "s", (0.002, 0.004, 0.003), "the floor", (0.001, 0.001, 0.001), most=2.5)
    assert cells(row) == ("a trial", "3.00 ms\n2.00 ms … 4.00 ms", "the floor", "1.00 ms", "3 x", "2.5 x")


@pytest.mark.parametrize(
    ("values", "unit", "text"),
    [((0.0004,), "%", "0.0400 %"), ((2.0,), "1", "2.00"), ((2048.0,), "B", "2.00 KiB"), ((), "s", "-")],
)
def test_units(values: tuple[float, ...], unit: str, text: str) -> None:
    assert figures(values, unit) == text  # type: ignore[arg-type]


def test_nothing_beside_it_leaves_the_cells_empty() -> None:
    assert cells(Row("trial", "a trial", "s", (1.0,))) == ("a trial", "1.00 s", "", "", "", "")


def test_a_limit_of_the_ratio_is_shown_as_one() -> None:
    row = Row("jobs", "a job", "1", (1.0,), "sbatch", (2.0,), limit=3.0, most=1.1)
    assert cells(row)[-2:] == ("0.5 x", "3.00\n1.1 x")


def test_verdicts_are_words_and_others_are_named() -> None:
    text = printed(
        [
            Row("trial", "one", "1", (1.0,), limit=2.0, foreign=0.25),
            Row("trial", "two", "1", (3.0,), limit=2.0, foreign=0.25),
            Row("start", "three", "1", (), limit=2.0, note="it is not there", foreign=0.5),
        ]
    )
    lines = text.splitlines()
    for what, verdict in {"one": "within", "two": "not within", "three": "not measured"}.items():
        (line,) = (line for line in lines if line.strip().startswith(what) and ":" not in line)
        assert line.rstrip().endswith(verdict)
    assert text.count("others took 25 % of the cores") == 1
    assert "three: it is not there" in lines


def test_a_pipe_gets_the_whole_width() -> None:
    text = printed([Row("trial", "w" * 30, "1", (1.0,), limit=2.0)])
    assert "w" * 30 in text
    assert max(map(len, text.splitlines())) <= WIDE


def test_brackets_are_no_markup() -> None:
    assert "[red]x[/red]" in printed([Row("trial", "[red]x[/red]", "s", (1.0,))])
