"""The traces that an experiment replays: beside its file, or in the store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.model.experiment import Experiment
from steelyard.model.replay import ReplayedTrace
from steelyard.model.trial import Cell
from steelyard.spec.bind import bind_all
from steelyard.store.layout import Store

if TYPE_CHECKING:
    from steelyard.traces.folder import TraceFolder


def check_traces(experiment: Experiment, cells: Sequence[Cell], store: Store) -> None:
    """Whether each trace that a workload replays is there and sound. Raises UnknownName, StoreError."""
    if not _list_traces(experiment, cells[0]):
        return
    wanted = (each for cell in cells for each in _list_traces(experiment, cell))
    for each in dict.fromkeys(wanted):
        find_replayed(experiment, store, each).verify()


def find_replayed(experiment: Experiment, store: Store, wanted: ReplayedTrace) -> TraceFolder:
    """A folder beside the experiment's file, else one of the store. Raises UnknownName."""
    from steelyard.traces.folder import find_trace

    beside = Path(experiment.folder or ".") / wanted.name
    return find_trace(store, str(beside.absolute()) if beside.is_dir() else wanted.name)


def _list_traces(experiment: Experiment, cell: Cell) -> list[ReplayedTrace]:
    asked = (workload.trace() for _, workload in bind_all(experiment, cell))
    return [each for each in asked if each is not None]
