"""Measure both builds of a run again, side by side, before its gate fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from steelyard.controller.choices import RunChoices
from steelyard.controller.design_document import find_folder
from steelyard.controller.observer import Observer
from steelyard.controller.run import check_continuable, start
from steelyard.spec.change import apply_changes
from steelyard.store.layout import RunFolder, Store
from steelyard.store.reader import CONFIRMS, RunRecord


def confirm(folder: RunFolder, store: Store, *, observer: Observer | None = None) -> RunFolder:
    """Run a run's experiment again where it ran, in blocks, as a run of its own that no history counts.

    Raises as `start`.
    """
    check_continuable(folder)
    record = RunRecord(folder)
    changes = {"tags": {CONFIRMS: folder.id}, "order": "blocked"}
    experiment, text = apply_changes(
        record.experiment_text, str(folder.experiment), changes, folder=find_folder(record)
    )
    file = record.journal[0].get("file")
    origin = Path(str(file["path"])) if isinstance(file, Mapping) and file.get("path") else None
    choices = RunChoices(record.site)
    return start(experiment, text, store, choices=choices, observer=observer, origin=origin)
