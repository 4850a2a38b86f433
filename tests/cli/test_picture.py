"""The picture of a run in a terminal: it fits, and says what counts."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from run_states import watch
from steelyard.cli.picture import draw_line, draw_run
from steelyard.watching.samples import LiveSeries
from steelyard.watching.state import RunState


@pytest.fixture
def record(build, plans):
    return build(**plans.watched())


def draw(state: RunState, lines=(), width: int = 80, height: int = 24) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=width, height=height, markup=False, emoji=False, highlight=False)
    console.print(draw_run(state, lines, width=width, height=height))
    return stream.getvalue().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 10), (20, 5), (200, 60)])
def test_the_picture_fits_whatever_the_terminal(record, width, height):
    long = "x" * 300
    begun = {"kind": "trial-started", "wall": 1.0, "trial": 19, "repetition": 7, "parameters": {"a": long}}
    state = watch(record, {"kind": "run-resumed", "wall": 1.0}, begun)
    lines = [LiveSeries("rate", "1/s", [float(n) for n in range(500)], [])]
    drawn = draw(state, lines, width, height)
    assert all(len(line) <= width for line in drawn)
    if height >= 24:
        assert len(drawn) <= height


def test_the_picture_says_what_counts(record):
    text = "\n".join(draw(watch(record)))
    assert "streams  complete" in text
    assert "18 of 18 trials, 1 failed" in text
    assert "██████████ 6" in text
    assert "1 marked" in text
    assert "throughput [95 %]" in text


def test_a_cell_whose_trials_are_all_marked_shows_their_median_in_brackets(build, plans):
    marks = {("streams=1", n): ("disturbed", "foreign CPU load: 31 %") for n in range(1, 7)}
    record = build(**plans.watched(failures={}, marks=marks))
    drawn = draw(watch(record), width=70)
    (row,) = (line for line in drawn if line.startswith("1 "))
    assert re.search(r"░ 0 +\(.+/s\) +6 marked", row), row


def test_of_many_cells_those_around_the_one_that_is_measured_are_shown(build, plans):
    levels = list(range(1, 41))
    plan = plans.streams(
        parameters={"streams": levels},
        measured=lambda cell: cell.parameters["streams"] < 20,
        figures=lambda cell, repetition, rng: {"throughput": float(repetition)},
        text=plans.STREAMS.replace("[1, 2, 4]", str(levels)),
    )
    drawn = "\n".join(draw(watch(build(**plan))))
    assert re.search(r"^20 +░", drawn, re.MULTILINE)
    assert not re.search(r"^1 +█", drawn, re.MULTILINE)
    assert "more cells" in drawn


def test_a_line_takes_as_much_room_as_there_is():
    line = draw_line(LiveSeries("rate", "1/s", [float(n) for n in range(200)], []), 40)
    assert len(line) == 40
    assert line.startswith("rate ")
    assert line.endswith(" 199/s")


def test_a_finished_run_is_shown_at_once(steelyard, record):
    said = steelyard("watch", str(record.folder.path))
    assert said.code == 0
    assert "throughput" in said.out
