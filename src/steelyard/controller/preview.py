"""What a run would do, without doing any of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from steelyard.design import Design, Results
from steelyard.model.command import Command, Place
from steelyard.model.experiment import Experiment
from steelyard.model.tool import Tool
from steelyard.model.trial import Cell
from steelyard.spec.bind import bound_all, workload_class
from steelyard.tools.find import missing

TRIED = 200


@dataclass(frozen=True, slots=True)
class Preview:
    """Numbers of cells and trials (at least, at most); seconds (at least, at most; None when the options do
    not tell); bytes in the scratch directory at the worst; the commands of one trial; what is missing."""

    cells: tuple[Cell, ...]
    trials: tuple[int, int]
    order: str
    seed: int
    seconds: tuple[float, float] | None
    disk: int
    commands: tuple[tuple[str, Command], ...]
    lacks: tuple[Tool, ...]


def preview(experiment: Experiment, seed: int, scratch: Path, cores: int, memory: int) -> Preview:
    """Look ahead. `scratch` is where test data would go; `cores` and `memory` (bytes) are the host's."""
    design = Design(experiment, seed)
    least, most = design.expected(Results())
    needs = [tool for use in experiment.workload for tool in workload_class(use.use).needs]
    place = Place(PurePosixPath(scratch) / "t1", PurePosixPath("RAW"), cores, memory, seed)
    sample = design.cells[:: max(1, len(design.cells) // TRIED)]
    return Preview(
        design.cells,
        (least, most),
        experiment.order,
        seed,
        _seconds(experiment, sample, least, most),
        max((_disk(experiment, cell) for cell in sample), default=0),
        tuple(_commands(experiment, design.cells[0], place)),
        tuple(missing(needs)),
    )


def _seconds(
    experiment: Experiment, sample: tuple[Cell, ...], least: int, most: int
) -> tuple[float, float] | None:
    found = [workload.seconds() for cell in sample for _, workload in bound_all(experiment, cell)]
    if None in found or not sample:
        return None
    before = sum(float(step.value) for step in experiment.before_each if step.name == "settle")
    each = sum(seconds or 0.0 for seconds in found) / len(sample) + before
    return each * least, each * most


def _disk(experiment: Experiment, cell: Cell) -> int:
    filled = (int(step.value) for step in experiment.before_each if step.name == "precondition")
    return max(sum(workload.disk() for _, workload in bound_all(experiment, cell)), max(filled, default=0))


def _commands(experiment: Experiment, cell: Cell, place: Place) -> list[tuple[str, Command]]:
    return [
        (f"{use.phase}-{phase.name}" if use.phase else phase.name, phase.command)
        for use, workload in bound_all(experiment, cell)
        for phase in workload.phases(place)
    ]
