"""Real runs from Python, on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard import api
from steelyard.controller.observer import Observer, Progress
from steelyard.model.trial import Result, Trial


class Recorder(Observer):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.ends: list[tuple[Trial, str, str]] = []
        self.counts: list[int] = []

    def on_trial_end(self, result: Result, message: str, progress: Progress) -> None:
        self.ends.append((result.trial, result.category or result.status, message))
        self.counts.append(progress.done)

    def on_warning(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def told() -> Recorder:
    return Recorder()


@pytest.fixture
def emptied_scratch(enterable_scratch: Path) -> Iterator[None]:
    """The scratch of runs, in which nothing may be left."""
    yield
    assert list(enterable_scratch.iterdir()) == [], "its scratch is removed"


@pytest.fixture
def lasting(own_place: Path) -> Callable[[int], list[str]]:
    """The words of a program that ends when so many events of its trial have, however long that takes."""

    def words(events: int) -> list[str]:
        enough = f"/trial-started/ {{n = 0}} /event-ended/ {{n++}} END {{exit n < {events}}}"
        journals = f"{own_place}/store/runs/*/journal.ndjson"
        return ["sh", "-c", f"until awk '{enough}' {journals}; do sleep 0.02; done"]

    return words


@pytest.fixture
def measure(own_place: Path, told: Recorder) -> Callable[..., api.Run]:
    """Run a shell script as an experiment; keywords are further keys of the file or of its workload."""

    def run(script: str, *, options: dict[str, Any] | None = None, **more: Any) -> api.Run:
        workload = {"use": "command", "script": script, **(options or {})}
        tree = {"experiment": "test", "telemetry": "off", "workload": workload, "repeat": 1}
        tree |= {"disturbed": "exclude", **more}
        return api.run(tree, observer=told)

    return run
