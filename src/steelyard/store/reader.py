"""A run as it was recorded: the only way in which analysis and report see one.

The journal is the truth; everything else is read only for detail (histograms, outputs, telemetry), so that
a run cut off at any instant can still be shown.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Literal

from steelyard.errors import StoreError, UnknownName
from steelyard.model.column import Column
from steelyard.model.metric import Mark, Metric, SeriesSample
from steelyard.model.trial import Cell, Disturbed, Result, Trial
from steelyard.store.columns import read_columns
from steelyard.store.journal import parse_line, read_journal
from steelyard.store.layout import SCHEMA, RunFolder
from steelyard.store.writer import is_live
from steelyard.untrusted import open_regular, read_content, read_lines

_TAIL, _FARTHEST = 8192, 256 << 20
_ENORMOUS = 1e15

State = Literal["submitted", "running", "suspended", "complete", "interrupted", "cancelled", "failed", "died"]
UNDER_WAY: tuple[State, ...] = ("submitted", "running", "suspended")
CONFIRMS = "confirms"
"""The tag of a run that was made to confirm what another found; it is no evidence of its own."""
_ENDED: tuple[State, ...] = ("complete", "interrupted", "cancelled", "failed")


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """A finished trial: its result and where the rest of it lies.

    `short` are quantiles that it has no figure of, with how many observations there were; `bounds` are
    metrics of which it only has a figure that the true one does not exceed.
    """

    number: int
    result: Result
    started: float
    attempt: int = 1
    message: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    short: Mapping[str, int] = field(default_factory=dict)
    bounds: frozenset[str] = frozenset()

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Why it is not pooled with the others; empty when it is."""
        return self.result.marks


@dataclass(frozen=True, slots=True)
class Glance:
    """What `list` shows of a run, from the two ends of its journal."""

    run: str
    title: str
    started: float
    state: State
    trials: int
    failed: int
    site: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CollectedTable:
    """What a collector recorded of a host, or of a server on it: a Parquet file."""

    collector: str
    label: str
    path: Path

    def columns(self) -> dict[str, Column]:
        """What its columns mean, by name or family; none where that is not known. Raises StoreError."""
        return read_columns(self.path.with_suffix(".json"))


class RunRecord:
    """A run seen from outside. Every property reads on first use; nothing is ever written.

    Whether disturbed trials count is as it was when they were made, unless `disturbed` says otherwise.
    """

    def __init__(self, folder: RunFolder, *, disturbed: Disturbed | None = None) -> None:
        self.folder, self._disturbed = folder, disturbed
        if not folder.journal.is_file():
            raise StoreError(f"{folder.path} has no journal, so it is not a run")

    @property
    def id(self) -> str:
        """The run's id."""
        return self.folder.id

    @cached_property
    def journal(self) -> list[dict[str, Any]]:
        """All lines of the journal."""
        return list(read_journal(self.folder.journal))

    @cached_property
    def experiment_text(self) -> str:
        """The experiment file as it was run."""
        return _read_text(self.folder.experiment)

    @cached_property
    def design(self) -> dict[str, Any]:
        """Seed, order, cells, metrics, requirements and policies of the run. Raises StoreError."""
        return _read_document(self.folder.design)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """What is known of the machine; empty when the run ended before it was gathered."""
        return _read_document(self.folder.environment) if self.folder.environment.exists() else {}

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """The declared metrics by name, in their order."""
        with _report_damage(self.folder.design):
            return {entry["name"]: Metric(**entry) for entry in self.design.get("metrics", ())}

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells of the design, measured or not; with `find` those that the search has come to.

        These are in the order of the other parameters' levels, and then of the level that was searched.
        """
        with _report_damage(self.folder.design):
            declared = tuple(Cell(dict(parameters)) for parameters in self.design["cells"])
            if not (sought := self.design.get("find")):
                return declared
            return _sort_probes(str(sought["parameter"]), declared, self.results)

    @cached_property
    def trials(self) -> tuple[TrialRecord, ...]:
        """The finished trials in the order in which they ended; the last attempt of each."""
        records: dict[tuple[str, int], TrialRecord] = {}
        with _report_damage(self.folder.journal):
            for line in self._select_lines("trial-ended"):
                if not line.get("retried"):
                    record = _recount(parse_trial(line), self._disturbed)
                    records[record.result.trial.key] = record
        return tuple(records.values())

    @property
    def counts(self) -> dict[str, int]:
        """How many trials are done and how many of them failed, as each line about the run says."""
        return {"done": len(self.trials), "failed": sum(r.status == "failed" for r in self.results)}

    @property
    def results(self) -> Iterator[Result]:
        """What a design replays."""
        return (trial.result for trial in self.trials)

    @property
    def warnings(self) -> list[str]:
        """What the run warned of, each once."""
        return list(dict.fromkeys(str(line.get("text", "")) for line in self._select_lines("warning")))

    @property
    def alerts(self) -> dict[str, list[int]]:
        """In which trials each rule of `alert` began to hold, by its condition."""
        trials: dict[str, list[int]] = {}
        for line in self._select_lines("alert"):
            if line.get("holds") is True:
                trials.setdefault(str(line.get("when")), []).append(_read_number(line))
        return trials

    @property
    def images(self) -> list[dict[str, Any]]:
        """What was said of each image on each host when it was first ready there."""
        first: dict[tuple[str, str], dict[str, Any]] = {}
        for line in self._select_lines("image-ready"):
            first.setdefault((str(line.get("image")), str(line.get("host"))), line)
        return list(first.values())

    @property
    def traces(self) -> dict[str, dict[str, Any]]:
        """What each recorded trace says of itself, by its path below the run's folder. Raises StoreError."""
        with _report_damage(self.folder.journal):
            lines = self._select_lines("traces-recorded")
            paths = [Path(str(path)) for line in lines for path in line["paths"]]
        ours = (path for path in paths if ".." not in path.parts and not path.is_absolute())
        return {str(path): _read_document(self.folder.path / path / "trace.json") for path in ours}

    @property
    def seed(self) -> int:
        """The seed of the run."""
        with _report_damage(self.folder.journal):
            return int(self.journal[0]["seed"])

    @property
    def site(self) -> str | None:
        """The site that the run began on, as it was named; None in records from before there were several."""
        with _report_damage(self.folder.journal):
            return self.journal[0].get("site")

    @property
    def last_number(self) -> int:
        """The highest number that any trial was given; 0 before the first."""
        with _report_damage(self.folder.journal):
            return max(map(_read_number, self._select_lines("trial-started")), default=0)

    def glance(self) -> Glance:
        """The run in short."""
        return glance(self.folder)

    def histograms(self, number: int) -> dict[str, dict[float, int]]:
        """Metric name to bins (value in the metric's unit to count) of a trial; empty where it has none."""
        path = self.folder.trial(number) / "metrics.json"
        if not path.exists():
            return {}
        with _report_damage(path):
            bins = _read_document(path).get("histograms", {}).items()
            return {name: {float(value): int(n) for value, n in counts.items()} for name, counts in bins}

    def trial_document(self, number: int) -> dict[str, Any]:
        """The commands, exits and times of a trial; empty when it was cut off before they were written."""
        path = self.folder.trial(number) / "trial.json"
        return _read_document(path) if path.exists() else {}

    def trial_page(self, number: int) -> dict[str, Any]:
        """Everything of one trial in one document. Raises UnknownName."""
        entries = [line for line in self.journal if line.get("trial") == number]
        if not entries:
            numbers = [str(trial.number) for trial in self.trials]
            raise UnknownName(
                "trial", str(number), numbers, hint=f"{self.id} has trials 1 to {self.last_number}"
            )
        folder = self.folder.trial(number)
        files = sorted(str(path) for path in folder.rglob("*") if path.is_file())
        return {"journal": entries, **self.trial_document(number), "files": files}

    def telemetry(self, number: int) -> dict[str, Path]:
        """Host to the Parquet file of its samples during a trial."""
        folder = self.folder.telemetry(number, "x", "parquet").parent
        return {path.stem: path for path in sorted(folder.glob("*.parquet"))}

    def collector_tables(self, number: int) -> list[CollectedTable]:
        """The tables of the other collectors during a trial, by collector and host."""
        folder = self.folder.collector_table(number, "x", "x", "parquet").parents[1]
        return [
            CollectedTable(path.parent.name, path.stem, path) for path in sorted(folder.glob("*/*.parquet"))
        ]

    def series(self, number: int) -> Iterator[list[SeriesSample]]:
        """How the metrics of a trial went over time, for each copy that tells. Raises StoreError."""
        for path in self.folder.list_samples(number):
            with _report_damage(path):
                yield [_parse_sample(json.loads(line)) for line in _read_text(path).splitlines()]

    def _select_lines(self, kind: str) -> Iterator[dict[str, Any]]:
        return (line for line in self.journal if line["kind"] == kind)


def glance(folder: RunFolder) -> Glance:
    """A run in short, from the two ends of its journal. Never raises: a list shows damaged runs too.

    Whether it is live is asked before and after: one that ends or begins while it is read has not died.
    """
    was_live = is_live(folder)
    first, last = _read_ends(folder.journal)
    return Glance(
        folder.id,
        str(first.get("experiment", "")),
        _parse_number(first.get("wall")),
        _state(folder, last, live=was_live or is_live(folder)),
        int(_parse_number(last.get("done"))),
        int(_parse_number(last.get("failed"))),
        str(first.get("site") or ""),
        _parse_tags(first.get("tags")),
    )


def _parse_tags(tags: object) -> dict[str, str]:
    return {str(name): str(value) for name, value in tags.items()} if isinstance(tags, dict) else {}


def _state(folder: RunFolder, last: Mapping[str, Any], *, live: bool) -> State:
    if live:
        return "suspended" if last.get("kind") == "run-suspended" else "running"
    if last.get("kind") == "run-ended":
        return next((state for state in _ENDED if state == last.get("state")), "died")
    if folder.cancel_file.exists():
        return "cancelled"  # in the queue, or by a scheduler that left it no time for a word
    return "submitted" if last.get("kind") == "run-submitted" else "died"


def _parse_number(value: object) -> float:
    """What a stranger says is a number: 0 when it is none."""
    plain = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _ENORMOUS
    return float(value) if plain else 0.0  # type: ignore[arg-type]


def _read_ends(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first line, and the last one that counts trials, which may stand far from the end."""
    try:
        with open_regular(path) as file:
            first = parse_line(next(read_lines(file), b"")) or {}
            size, reach = os.fstat(file.fileno()).st_size, _TAIL
            while not (counting := _last_count(file, max(0, size - reach))) and reach < min(size, _FARTHEST):
                reach *= 8
    except OSError:
        return {}, {}
    return first, counting


def _last_count(file: BinaryIO, start: int) -> dict[str, Any]:
    """The last line from there on that says how many trials are done; empty when none does."""
    file.seek(start)
    last: dict[str, Any] = {}
    for raw in read_lines(file):
        line = parse_line(raw)
        if line and "done" in line:
            last = line
    return last


def parse_trial(line: Mapping[str, Any]) -> TrialRecord:
    """A trial from its last line in the journal."""
    if line["status"] not in ("ok", "failed"):
        raise ValueError(f"a trial's status is ok or failed, not {line['status']!r:.40}")
    seconds = float(line["seconds"])
    result = Result(
        Trial(Cell(dict(line["parameters"])), int(line["repetition"])),
        line["status"],
        seconds,
        {name: float(value) for name, value in line.get("metrics", {}).items()},
        tuple(Mark(**mark) for mark in line.get("marks", ())),
        line.get("category"),
        int(line.get("copies", 1)),
        tuple(map(str, line.get("on", ()))),
    )
    return TrialRecord(
        _read_number(line),
        result,
        float(line["wall"]) - seconds,
        int(line.get("attempt", 1)),
        str(line.get("message", "")),
        dict(line.get("facts", {})),
        {str(name): int(count) for name, count in line.get("short", {}).items()},
        frozenset(map(str, line.get("at_most", ()))),
    )


def _read_number(line: Mapping[str, Any]) -> int:
    """The number of a line's trial, which names its folder. Raises ValueError for what is none."""
    number = int(line["trial"])
    if not 0 <= number < _ENORMOUS:
        raise ValueError(f"{str(line['trial'])[:20]} is no number of a trial")
    return number


def _recount(trial: TrialRecord, disturbed: Disturbed | None) -> TrialRecord:
    """The trial with its disturbances counted in or left out."""
    if disturbed is None or not trial.marks:
        return trial
    counted = disturbed == "include"
    marks = (replace(one, counted=counted) if one.kind == "disturbed" else one for one in trial.marks)
    return replace(trial, result=replace(trial.result, marks=tuple(marks)))


def _sort_probes(parameter: str, declared: Iterable[Cell], results: Iterable[Result]) -> tuple[Cell, ...]:
    def others(cell: Cell) -> str:
        return Cell({name: level for name, level in cell.parameters.items() if name != parameter}).key

    order = {key: place for place, key in enumerate(dict.fromkeys(map(others, declared)))}
    by_key = {result.trial.cell.key: result.trial.cell for result in results}
    known = (cell for cell in by_key.values() if others(cell) in order)
    return tuple(sorted(known, key=lambda cell: (order[others(cell)], cell.parameters[parameter])))


def _read_text(path: Path) -> str:
    try:
        return read_content(path).decode("utf-8", errors="surrogateescape")
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def _read_document(path: Path) -> dict[str, Any]:
    with _report_damage(path):
        document = json.loads(_read_text(path))
        if not isinstance(document, dict):
            raise TypeError("it is not a JSON object")
        newer = int(document.get("schema", SCHEMA)) > SCHEMA
    if newer:
        message = f"{path} was written by a newer version of Steelyard (schema {document['schema']})"
        raise StoreError(message, hint="update Steelyard to read it")
    return document


def _parse_sample(found: Mapping[str, Any]) -> SeriesSample:
    values = {str(name): float(value) for name, value in found["values"].items()}
    return SeriesSample(float(found["at"]), float(found["length"]), values)


@contextmanager
def _report_damage(path: Path) -> Iterator[None]:
    """Whatever a file says that it should not is one kind of error."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise StoreError(f"{path} is damaged: {type(error).__name__}: {error}") from error
