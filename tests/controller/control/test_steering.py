"""What every run can be asked: acknowledged in the journal with who asked, and done between two trials."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.controller.context import RunContext
from steelyard.controller.control.server import ControlServer
from steelyard.controller.control.socket import call
from steelyard.controller.control.steering import Steering
from steelyard.controller.jobs.limit import SPARE, TimeLimit
from steelyard.design import Design, Results
from steelyard.errors import HostError
from steelyard.model.experiment import Experiment
from steelyard.spec.change import dump
from steelyard.spec.sites import resolve
from steelyard.store.layout import Store
from steelyard.store.writer import RunWriter


class Lock:
    """The machine's turn: what became of it."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def release(self) -> None:
        self.said.append("released")

    async def acquire(self) -> None:
        self.said.append("acquired")


class Scene:
    """A run that listens, between two trials."""

    def __init__(self, context: RunContext, steering: Steering, signals: list[Any]) -> None:
        self.context, self.steering, self.signals, self.lock = context, steering, signals, Lock()

    async def ask(self, verb: str, **facts: Any) -> Any:
        return await call(self.context.folder.control, verb, **facts)

    def journal(self, *kinds: str) -> list[dict[str, Any]]:
        lines = map(json.loads, self.context.folder.journal.read_text().splitlines())
        return [line for line in lines if line["kind"] in kinds]


@asynccontextmanager
async def listening(place: Path, *, services: dict[str, Any], limit: TimeLimit) -> AsyncIterator[Scene]:
    tree = {"experiment": "test", "workload": {"use": "command", "run": ["true"]}, "repeat": 3}
    experiment = Experiment.model_validate(tree)
    with RunWriter(Store(place).create("test")) as writer:
        writer.write_text(writer.folder.experiment, dump(tree))
        writer.journal.write("run-started", seed=1)
        context = RunContext(
            experiment, Design(experiment, 1), Results(), writer, Store(place), resolve("local")
        )
        server, signals = ControlServer(context), list[Any]()
        steering = Steering(context, server, SimpleNamespace(handle_signal=signals.append))  # type: ignore[arg-type]
        scene = Scene(context, steering, signals)
        deployment = SimpleNamespace(live_services=services)
        steering.attach_resources(scene.lock, deployment, limit)  # type: ignore[arg-type]
        async with server.accept_requests("127.0.0.1"):
            yield scene


def play(
    act: Callable[[Scene], Coroutine[Any, Any, None]],
    place: Path,
    services: dict[str, Any] | None = None,
    limit: TimeLimit | None = None,
) -> None:
    async def acted() -> None:
        async with listening(place, services=services or {}, limit=limit or TimeLimit(None)) as scene:
            await act(scene)

    asyncio.run(acted())


def test_a_run_that_nobody_suspended_goes_on_at_once(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.steering.wait_while_suspended()
        assert await scene.ask("status") == {"suspended_by": "", "left": None}
        assert scene.journal() == []

    play(act, tmp_path)


def test_a_suspended_run_gives_the_turn_back_and_takes_it_again(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.ask("suspend", by="ada", asked=12.5)
        assert (await scene.ask("status"))["suspended_by"] == "ada"
        waiting = asyncio.create_task(scene.steering.wait_while_suspended())
        await asyncio.sleep(0)  # until it waits
        assert scene.lock.said == ["released"]
        await scene.ask("continue", by="bob")
        await waiting
        assert scene.lock.said == ["released", "acquired"]
        told = [
            (line["kind"], line.get("action"), line["by"])
            for line in scene.journal("action-acknowledged", "run-suspended", "run-continued")
        ]
        assert told == [
            ("action-acknowledged", "suspend", "ada"),
            ("run-suspended", None, "ada"),
            ("action-acknowledged", "continue", "bob"),
            ("run-continued", None, "bob"),
        ]
        assert scene.journal("action-acknowledged")[0]["asked"] == 12.5
        assert scene.journal("run-suspended")[0]["turn"] == "given back"

    play(act, tmp_path)


def test_while_services_are_up_the_turn_is_kept_and_that_is_said(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.ask("suspend")
        waiting = asyncio.create_task(scene.steering.wait_while_suspended())
        await asyncio.sleep(0)  # until it waits
        await scene.ask("continue")
        await waiting
        (line,) = scene.journal("run-suspended")
        assert (line["turn"], line["services"], line["by"]) == ("kept", ["db"], "somebody")
        assert scene.lock.said == []

    play(act, tmp_path, services={"db": object()})


def test_a_suspended_run_ends_its_wait_when_its_time_is_over(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.ask("suspend")
        await scene.steering.wait_while_suspended()
        assert [line["by"] for line in scene.journal("run-continued")] == ["the time limit"]

    play(act, tmp_path, limit=TimeLimit(SPARE + 0.1))


def test_what_is_so_already_is_refused(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        with pytest.raises(HostError, match="it is not suspended"):
            await scene.ask("continue")
        await scene.ask("suspend", by="ada")
        with pytest.raises(HostError, match="ada has suspended it already"):
            await scene.ask("suspend", by="bob")
        with pytest.raises(HostError, match="unknown request 'dance'; this run accepts status, cancel, "):
            await scene.ask("dance")

    play(act, tmp_path)


def test_a_run_is_extended_as_long_as_it_has_trials(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        with pytest.raises(HostError, match="3 repetitions already; choose a higher number"):
            await scene.ask("extend", repeat=2)
        assert not scene.steering.is_extended
        assert scene.journal("action-acknowledged", "run-extended") == []
        await scene.ask("extend", repeat=5, by="ada")
        assert scene.steering.is_extended
        (line,) = scene.journal("run-extended")
        assert (line["by"], "repeat: 5" in line["after"]) == ("ada", True)
        assert "repeat: 5" in scene.context.folder.experiment.read_text()
        scene.steering.close_trials()
        with pytest.raises(HostError, match="its last trial is over"):
            await scene.ask("extend", repeat=6)

    play(act, tmp_path)


def test_a_cancelled_run_is_told_like_a_signal_once_the_answer_is_out(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert await scene.ask("cancel", by="ada\x1b[31m\n" + "a" * 500) == {
            "by": ("ada\\x1b[31m\\n" + "a" * 500)[:100]
        }
        assert [number.name for number in scene.signals] == ["SIGTERM"]
        assert scene.context.folder.canceller().startswith("ada")

    play(act, tmp_path)
