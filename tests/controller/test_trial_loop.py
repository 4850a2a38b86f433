"""The loop over trials, with trials that cost nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from steelyard.controller.attempt import Attempt
from steelyard.controller.context import RunContext
from steelyard.controller.jobs.limit import SPARE, TimeLimit
from steelyard.controller.trial.data import TrialData
from steelyard.controller.trial_loop import TrialLoop
from steelyard.design import Design, Results
from steelyard.errors import StoreFull, TrialFailure
from steelyard.model.experiment import Experiment
from steelyard.model.trial import Result, Trial
from steelyard.spec.sites import resolve
from steelyard.store.layout import Store
from steelyard.store.writer import RunWriter

if TYPE_CHECKING:
    from conftest import Recorder


class Runner:
    """Every trial goes well, or fails as told, and claims to take so many `seconds`."""

    seconds = 1.0

    def __init__(self, *categories: str) -> None:
        self.categories = list(categories)
        self.made: list[tuple[int, int]] = []

    async def execute(self, trial: Trial, number: int, attempt: int) -> tuple[Result, TrialData]:
        self.made.append((number, attempt))
        if not self.categories:
            data = TrialData(Attempt.of(trial, number, attempt, 1), warnings=["said often"])
            return Result(trial, "ok", self.seconds, {"wall": 1.0}), data
        category = self.categories.pop(0)
        account = TrialData(
            Attempt.of(trial, number, attempt, 1), failure=TrialFailure(category, f"it is {category}")
        )
        return Result(trial, "failed", 1.0, category=category), account


class Swallower(Runner):
    """Loses the cancellation that comes while it runs."""

    async def execute(self, trial: Trial, number: int, attempt: int) -> tuple[Result, TrialData]:
        task = asyncio.current_task()
        assert task
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(1)
        return await super().execute(trial, number, attempt)


class AlwaysGo:
    """Nobody suspends the run, or extends it."""

    is_extended = False

    def close_trials(self) -> None:
        return

    async def wait_while_suspended(self) -> None:
        return


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[RunWriter]:
    with RunWriter(Store(tmp_path).create("test")) as made:
        yield made


def study(
    writer: RunWriter,
    runner: Runner,
    told: Recorder,
    results: Results | None = None,
    limit: TimeLimit | None = None,
    **more: object,
) -> TrialLoop:
    tree = {"experiment": "test", "workload": {"use": "command", "run": ["true"]}, "repeat": 3, **more}
    experiment = Experiment.model_validate(tree)
    found = results if results is not None else Results()
    store, design = Store(writer.folder.path.parents[1]), Design(experiment, 1)
    context = RunContext(experiment, design, found, writer, store, resolve("local"), observer=told)  # type: ignore[arg-type]
    return TrialLoop(context, design, runner, limit or TimeLimit(None), AlwaysGo())  # type: ignore[arg-type]


def test_a_trial_that_would_not_end_in_time_is_not_begun(writer: RunWriter, told: Recorder) -> None:
    """The trials claim to take an hour, the limit leaves room for one and what is spared."""
    limit = TimeLimit(SPARE + 4000)
    runner = Runner()
    runner.seconds = 3600
    assert asyncio.run(study(writer, runner, told, limit=limit).run(1)) == "time-limit"
    assert len(runner.made) == 1


def test_all_that_the_design_asks_for_is_made_and_numbered(writer: RunWriter, told: Recorder) -> None:
    runner = Runner()
    made = study(writer, runner, told, parameters={"n": [1, 2]})
    assert asyncio.run(made.run(7)) == "complete"
    assert runner.made == [(number, 1) for number in range(7, 13)]
    assert (made.progress().done, made.progress().failed, made.progress().left) == (6, 0, 0)
    assert told.warnings == ["said often"], "once is enough"


def test_a_lost_cancellation_is_found_again_before_the_next_trial(writer: RunWriter, told: Recorder) -> None:
    """Or Ctrl-C would be in vain, because it is heard once."""
    runner = Swallower()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(study(writer, runner, told).run(1))
    assert len(runner.made) == 1


def test_memory_never_knows_more_than_the_disk(
    writer: RunWriter, told: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial whose line could not be written has not been made."""
    results = Results()

    def full(kind: str, **_: object) -> None:
        if kind == "trial-ended":
            raise StoreFull("no space left")

    monkeypatch.setattr(writer.journal, "write", full)
    with pytest.raises(StoreFull):
        asyncio.run(study(writer, Runner(), told, results).run(1))
    assert len(results) == 0


@pytest.mark.parametrize(("room", "made"), [(True, 3), (False, 1)])
def test_after_a_full_store_it_goes_on_only_with_room(
    room: bool, made: int, writer: RunWriter, told: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer.journal, "has_room", lambda: room)
    runner = Runner("store-full")
    with suppress(StoreFull):
        asyncio.run(study(writer, runner, told).run(1))
    assert len(runner.made) == made
    assert told.ends[0][1:] == ("store-full", "it is store-full")


def test_without_its_reserve_it_goes_on_only_with_room(writer: RunWriter, told: Recorder) -> None:
    writer.folder.reserve.unlink()
    asyncio.run(study(writer, Runner(), told).run(1))
    assert writer.folder.reserve.exists(), "it was set aside again"


def test_what_was_done_before_counts(writer: RunWriter, told: Recorder) -> None:
    results, runner = Results(), Runner()
    asyncio.run(study(writer, Runner("crashed"), told, results).run(1))
    made = study(writer, runner, told, results, repeat=5)
    assert (made.progress().done, made.progress().failed, made.progress().left) == (3, 1, None)
    asyncio.run(made.run(4))
    assert runner.made == [(4, 1), (5, 1)]


def test_a_trial_that_was_cut_off_before_we_hear_of_it_has_not_failed(
    writer: RunWriter, told: Recorder
) -> None:
    """Who cancels a job ends the program of its trial, too, and that may be seen first."""

    async def cancel() -> None:
        task = asyncio.create_task(study(writer, Runner("crashed"), told).run(1))
        await asyncio.sleep(0)
        task.cancel()
        await task

    writer.folder.cancel_file.write_text("somebody")
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())
    assert "trial-ended" not in writer.folder.journal.read_text()


def test_a_trial_that_failed_while_the_run_is_cancelled_is_not_recorded_without_a_signal(
    writer: RunWriter, told: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.controller.trial_loop.SIGNAL_FOLLOWS", 0)
    writer.folder.cancel_file.write_text("somebody")
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(study(writer, Runner("crashed"), told).run(1))
    assert "trial-ended" not in writer.folder.journal.read_text()
