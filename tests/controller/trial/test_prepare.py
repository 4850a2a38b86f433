"""What is done before each trial, and whether it was."""

from __future__ import annotations

import asyncio
import ctypes
import mmap
import os
from collections.abc import Awaitable, Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest

from steelyard.api import Run
from steelyard.controller.placement import Slot, Workdir, WorkloadCopy
from steelyard.controller.trial.prepare import Preparation
from steelyard.hosts.local import LocalHost
from steelyard.hosts.token import Token
from steelyard.model.keys.method import Step

if TYPE_CHECKING:
    from conftest import Recorder

    Measure = Callable[..., Run]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop caches")


def is_cached(file: Path) -> bool:
    """Whether any page of a file is in the cache: mincore(2) only looks, where RWF_NOWAIT begins to read."""
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as pages:
        there = (ctypes.c_ubyte * -(-len(pages) // mmap.PAGESIZE))()
        start = ctypes.c_char.from_buffer(pages)
        failed = ctypes.CDLL(None).mincore(ctypes.byref(start), ctypes.c_size_t(len(pages)), there)
        del start  # or the map cannot be closed
    assert not failed
    return any(page & 1 for page in there)


async def no_warm_up(_: int) -> None:
    raise AssertionError("no warm-up was asked for")


def prepared(
    place: Path,
    *steps: dict[str, Any],
    warm_up: Callable[[int], Awaitable[None]] = no_warm_up,
    host: type = LocalHost,
) -> tuple[dict[str, Any], list[str]]:
    """Carry out steps on this machine; the record of it and what could not be done."""

    def folder(slot: str, name: str) -> Path:
        made = place / name
        made.mkdir(exist_ok=True)
        return made

    async def tell() -> tuple[dict[str, Any], list[str]]:
        async with LocalHost.open(Token.of("test-prepare"), place / "log") as local:
            local.__class__ = host
            scratch = place / "scratch"
            scratch.mkdir()
            workdir = Workdir(WorkloadCopy(Slot("host", 0, local), 0, 0, 1), PurePosixPath(scratch))
            preparation = Preparation([workdir], warm_up=warm_up, folder=folder)
            return await preparation.carry_out(tuple(Step.model_validate(step) for step in steps))

    return asyncio.run(tell())


@needs_root
def test_dropped_caches_are_cold_and_proven_so(tmp_path: Path) -> None:
    """With 64 MiB in the cache that we put there; the kernel's own figures are in the record."""
    file = tmp_path / "data"
    with file.open("wb") as opened:
        opened.write(b"x" * (64 << 20))
        os.fsync(opened.fileno())
    assert is_cached(file)
    record, marks = prepared(tmp_path, {"sync": True}, {"drop_caches": True})
    assert not is_cached(file)
    assert marks == []
    assert record["cache"] == "cold"
    assert min(record["cached_before"], record["cached_after"]) > 0
    assert record["drop_caches_seconds"] >= 0


class Unprivileged(LocalHost):
    """This machine, as somebody who may not drop its caches."""

    async def drop_caches(self) -> bool:
        return False


def test_caches_that_may_not_be_dropped_are_told(tmp_path: Path) -> None:
    record, marks = prepared(tmp_path, {"drop_caches": True}, host=Unprivileged)
    assert record["cache"] == "as left"
    (mark,) = marks
    assert (mark.kind, mark.gist) == ("fallback", "caches not dropped")
    assert mark.reason == "drop_caches is not permitted on local; its caches were not dropped"


def test_sync_writes_what_is_dirty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the call that does: others write, too, so what is dirty on the machine says nothing."""
    calls = []
    monkeypatch.setattr(os, "sync", lambda: calls.append("sync"))
    record, _ = prepared(tmp_path, {"sync": True})
    assert record["cache"] == "as left"
    assert calls == ["sync"]


def test_settling_takes_as_long_as_it_says(tmp_path: Path) -> None:
    record, _ = prepared(tmp_path, {"settle": "0.3s"})
    assert record["settle_seconds"] >= 0.3


def test_preconditioning_writes_and_leaves_nothing(tmp_path: Path) -> None:
    record, marks = prepared(tmp_path, {"precondition": "5MiB"})
    assert marks == []
    assert "5242880 bytes" in (tmp_path / "precondition" / "stderr").read_text()
    assert list((tmp_path / "scratch").iterdir()) == []
    assert record["precondition_seconds"] > 0


def test_steps_are_done_in_order(tmp_path: Path) -> None:
    asked: list[int] = []

    async def warm_up(times: int) -> None:
        asked.append(times)

    record, _ = prepared(tmp_path, {"settle": "0.01s"}, {"warm_up": 2}, {"sync": True}, warm_up=warm_up)
    assert asked == [2]
    assert record["cache"] == "warm"
    assert [name for name in record if name.endswith("_seconds")] == [
        "settle_seconds",
        "warm_up_seconds",
        "sync_seconds",
    ]


# In a run


def test_a_warm_up_runs_in_the_trials_directory_and_is_not_measured(measure: Measure) -> None:
    script = "echo x >> count; wc -l < count"
    metrics = {"count": {"regex": r"(\d+)"}}
    run = measure(script, options={"metrics": metrics}, before_each=[{"warm_up": 3}], repeat=2)
    assert [trial.result.metrics["count"] for trial in run.record.trials] == [4.0, 4.0]
    document = run.record.trial_document(1)
    assert [phase["phase"] for phase in document["phases"]] == ["run"]
    assert document["prepared"]["cache"] == "warm"
    warmed = [run.record.folder.phase(1, "host-0", f"warm-up-{turn}-run") for turn in (1, 2, 3)]
    assert [(folder / "stdout").read_text() for folder in warmed] == ["1\n", "2\n", "3\n"]


def test_a_warm_up_that_fails_fails_the_trial(measure: Measure) -> None:
    run = measure("exit 4", before_each=[{"warm_up": 1}])
    (trial,) = run.record.trials
    assert trial.result.category == "crashed"
    assert run.record.trial_document(1)["phases"] == []


def test_what_could_not_be_done_marks_the_trials_and_is_warned_of_once(
    measure: Measure, told: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalHost, "drop_caches", Unprivileged.drop_caches)
    run = measure("true", before_each=["sync", "drop_caches"], repeat=3)
    refused = "drop_caches is not permitted on local; its caches were not dropped"
    assert told.warnings == [f"{refused}: such trials do not count"]
    assert {mark.reason for trial in run.record.trials for mark in trial.marks} >= {refused}
    assert not any(trial.result.is_poolable for trial in run.record.trials)
    assert run.record.warnings == told.warnings
    assert [run.record.trial_document(n)["prepared"]["cache"] for n in (1, 2, 3)] == ["as left"] * 3
