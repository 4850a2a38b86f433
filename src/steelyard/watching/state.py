"""What the journal of a run says so far, taken in line by line."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.analysis.importance import choose_headline
from steelyard.controller.design_document import load_experiment
from steelyard.design import Design, Results
from steelyard.model.trial import Cell, Trial
from steelyard.printable import make_one_line
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord, parse_trial

MOST_NOTES = 5
WAITING = "waiting for its job"


@dataclass(slots=True)
class CellProgress:
    """A cell: figures of the trials that count, and of those that are marked; how many were left out."""

    cell: Cell
    figures: list[float] = field(default_factory=list)
    doubtful: list[float] = field(default_factory=list)
    counted: int = 0
    failed: int = 0
    marked: int = 0


@dataclass(frozen=True, slots=True)
class RunningTrial:
    """The trial that runs now: its number, what it is, and since when (seconds since 1970)."""

    number: int
    label: str
    since: float


class RunState:
    """A run's cells, its current trial and its newest notes; `state` is as `steelyard list` has it."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder, self._results = folder, Results()
        self.cells: dict[str, CellProgress] = {}
        self._load_design()
        self.trial: RunningTrial | None = None
        self.event_lines: list[Mapping[str, Any]] = []
        self.notes: deque[str] = deque(maxlen=MOST_NOTES)
        self.since, self.done_before, self.state = 0.0, 0, "starting"
        self.ended = 0.0

    def _load_design(self) -> None:
        """What the run is to measure, which may be more than before when it goes on."""
        record = RunRecord(self.folder)
        experiment = load_experiment(record)
        self.title, self.metrics = experiment.experiment, record.metrics
        self.metric = choose_headline(record.metrics.values(), record.design)
        self._design, self.wanted = Design(experiment, record.seed), experiment.repeat.at_least
        self.within = float(experiment.repeat.until.within) if experiment.repeat.until else None
        for cell in record.cells:
            self.cells.setdefault(cell.key, CellProgress(cell))

    @property
    def done(self) -> int:
        """How many trials have ended."""
        return len(self._results)

    @property
    def failed(self) -> int:
        """How many of them failed."""
        return self._results.failed

    def count_wanted(self) -> tuple[int, int]:
        """How many trials the run will have, at least and at most."""
        return self._design.count_trials(self._results)

    @property
    def is_over(self) -> bool:
        """Whether its journal ends, and no job goes on with it."""
        return self.state not in ("starting", "running", "suspended", WAITING)

    def take_in(self, line: Mapping[str, Any]) -> None:
        """Another line of the journal."""
        match line["kind"]:
            case "run-started" | "run-resumed":
                self._begin_session(line)
            case "trial-started":
                self.trial, self.event_lines = _parse_running(line), []
            case "trial-ended":
                self.trial = None
                if not line.get("retried"):
                    self._take_trial(line)
            case "action-acknowledged":
                self._note(line, f"{line.get('by')} asked to {line.get('action')} it")
            case "run-suspended" | "run-continued":
                self.state = "suspended" if line["kind"] == "run-suspended" else "running"
                self._note(line, f"{line['kind'].removeprefix('run-')} by {line.get('by')}")
            case "run-extended":
                self._note(line, f"extended by {line.get('by') or 'somebody'}")
            case "warning" | "alert":
                self._note(line, _describe_warning(line))
            case "event-began" | "event-ended":
                self._take_event(line)
            case "run-submitted":
                self.state = WAITING
            case "run-ended":
                self.state, self.trial = str(line["state"]), None
                self.ended = float(line["wall"])
                if line.get("next") is not None:
                    self.state = WAITING

    def _take_event(self, line: Mapping[str, Any]) -> None:
        self.event_lines.append(line)
        if line["kind"] == "event-began":
            self._note(line, f"event: {line.get('event')}")

    def _begin_session(self, line: Mapping[str, Any]) -> None:
        self.since, self.ended, self.done_before = float(line["wall"]), 0.0, self.done
        self.state, self.trial = "running", None
        if line["kind"] == "run-resumed":  # it may have been extended
            self._load_design()

    def _take_trial(self, line: Mapping[str, Any]) -> None:
        trial = parse_trial(line)
        result = trial.result
        self._results.add(result)
        cell = self.cells.setdefault(result.trial.cell.key, CellProgress(result.trial.cell))
        label = result.trial.describe()
        figure = result.metrics.get(self.metric.name) if self.metric else None
        if result.status == "failed":
            cell.failed += 1
            self._note(line, f"{result.category}: {label}: {trial.message}")
        elif not result.is_poolable:
            cell.marked += 1
            cell.doubtful += [] if figure is None else [figure]
            self._note(line, f"{', '.join(dict.fromkeys(mark.gist for mark in trial.marks))}: {label}")
        else:
            cell.counted += 1
            cell.figures += [] if figure is None else [figure]

    def _note(self, line: Mapping[str, Any], text: str) -> None:
        self.notes.append(f"{_show_clock(float(line['wall']))}  {make_one_line(text)}")


def _parse_running(line: Mapping[str, Any]) -> RunningTrial:
    trial = Trial(Cell(dict(line["parameters"])), int(line["repetition"]))
    return RunningTrial(int(line["trial"]), trial.describe(), float(line["wall"]))


def _describe_warning(line: Mapping[str, Any]) -> str:
    if line["kind"] == "warning":
        return f"warning: {line.get('text')}"
    return f"alert: {line.get('when')} {'holds' if line.get('holds') else 'holds no more'}"


def _show_clock(wall: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(wall))
