"""Levels and repetitions that are added to a run, while it goes on or later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from steelyard.controller.design_document import find_folder
from steelyard.model.trial import Scalar
from steelyard.spec.change import extend_experiment
from steelyard.store.reader import RunRecord
from steelyard.store.writer import RunWriter


class Extension(NamedTuple):
    """The text of the experiment before it was extended, and after."""

    before: str
    after: str


def extend_record(writer: RunWriter, levels: Mapping[str, Sequence[Scalar]], repeat: int | None) -> Extension:
    """The change of the run's experiment, which is checked. Raises UsageError, SpecError."""
    record = RunRecord(writer.folder)
    name, before = str(writer.folder.experiment), record.experiment_text
    _, after = extend_experiment(before, name, levels, repeat, find_folder(record))
    return Extension(before, after)


def write_extension(writer: RunWriter, change: Extension, **facts: Any) -> None:
    """Put it on record. Raises StoreError."""
    writer.journal.write("run-extended", sync=True, **change._asdict(), **facts)
    writer.write_text(writer.folder.experiment, change.after.rstrip("\n"), sync=True)
