"""A run as all who take part in it know it: what is measured, how and where, and where it is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.controller.activity import CLUSTER_TAG, describe_line
from steelyard.controller.choices import RunChoices
from steelyard.controller.observer import Observer
from steelyard.design import Design, Results
from steelyard.model.experiment import Experiment
from steelyard.spec.sites import NamedSite
from steelyard.store.layout import RunFolder, Store
from steelyard.store.writer import RunWriter


@dataclass(frozen=True, slots=True)
class RunContext:
    """What is settled of a run before a session of it acquires anything.

    `results` are those of all trials so far, of this session and of earlier ones. `origin` is the folder of
    the experiment's file, where it is known: its revision is recorded.
    """

    experiment: Experiment
    design: Design
    results: Results
    writer: RunWriter
    store: Store
    site: NamedSite
    choices: RunChoices = field(default_factory=RunChoices)
    observer: Observer = field(default_factory=Observer)
    origin: Path | None = None

    @property
    def folder(self) -> RunFolder:
        """Where the record lies."""
        return self.writer.folder

    @property
    def is_cluster(self) -> bool:
        """Whether the run is a database for others, who watch what it is doing."""
        return CLUSTER_TAG in self.experiment.tags

    @property
    def counts(self) -> dict[str, int]:
        """How many trials are done, and how many of them failed, for the journal."""
        return {"done": len(self.results), "failed": self.results.failed}

    def note(self, kind: str, *, sync: bool = False, **facts: Any) -> None:
        """Write a line of the journal, and tell who watches a cluster what it means."""
        self.writer.journal.write(kind, sync=sync, **facts)
        if self.is_cluster and (text := describe_line({"kind": kind, **facts})):
            self.observer.on_wait(text)

    def warn(self, text: str) -> None:
        """Tell and record a warning."""
        self.note("warning", text=text)
        self.observer.on_warning(text)
