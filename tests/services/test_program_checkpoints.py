"""`use: program` with `checkpoint`: servers save their state while they run, and go on from it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from patience import PATIENCE
from steelyard.errors import HostError, SpecError, UsageError
from steelyard.events.base import EventContext
from steelyard.events.checkpoint import TakeCheckpoint
from steelyard.events.restore import Restore
from steelyard.hosts.token import Token
from steelyard.plugins import find
from steelyard.services.base import Service
from steelyard.services.kit.capabilities import Checkpointable
from steelyard.services.kit.context import ServiceContext
from steelyard.sites.local import Local, LocalOptions
from steelyard.spec.bind import make_service

KIND = find("services", "program", Service)
# It counts the connections that it served, in memory alone, and tells the number to each client.
COUNTER = """
import os, signal, socket, sys
count = int(open("state").read()) if "--resume" in sys.argv else 0
def save(*_):
    with open("state.new", "w") as file: file.write(str(count))
    if "--forgetful" not in sys.argv: os.rename("state.new", "state")
signal.signal(signal.SIGUSR1, save)
signal.signal(signal.SIGUSR2, lambda *_: os._exit(3))
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("serves", flush=True)
while True:
    client, _ = server.accept()
    count += 1
    client.sendall(str(count).encode())
    client.close()
"""
RUN = ["python3", "-c", COUNTER, "${self.address}", "${port}"]
HOOKS = {"signal": "SIGUSR1", "state_file": "state", "restore": [*RUN, "--resume"]}
OPTIONS = {"run": RUN, "ready": {"line": "^serves"}, "checkpoint": HOOKS, "authentication": "nothing"}


@pytest.fixture
def serving(place: Path) -> Callable[..., None]:
    """Deploy counters on two hosts of this machine, and do something to them."""

    def run(options: dict[str, Any], act: Callable[[Service[Any]], Awaitable[None]]) -> None:
        async def deploy() -> None:
            async with Local(LocalOptions(hosts=2)).lease(Token.of("test-ckpt"), place / "log", 2) as hosts:
                scratch = {host.name: PurePosixPath(place / host.name) for host in hosts}
                context = ServiceContext(
                    "web", hosts, scratch, place / "logs", (), "x", ready_timeout=PATIENCE, known={}
                )
                service = make_service(KIND, options, context, {})
                for host in hosts:
                    await host.make_scratch(service.scratch(host))
                async with service.deploy():
                    await act(service)

        asyncio.run(deploy())

    return run


async def ask_all(service: Service[Any]) -> list[int]:
    """The number that each server tells."""
    return [await ask(server.address, server.port) for server in service.servers]


async def ask(address: str, port: int) -> int:
    reader, writer = await asyncio.open_connection(address, port)
    said = await reader.read()
    writer.close()
    await writer.wait_closed()
    return int(said)


def make_event(kind: Any, service: Service[Any]) -> Any:
    context = EventContext({"web": service}, lambda _: (), {}, Path("logs"), frozenset({"web"}))
    return kind(kind.Options(service="web"), context)


def test_the_event_restore_goes_on_from_what_checkpoint_saved(serving) -> None:
    async def act(service: Service[Any]) -> None:
        assert isinstance(service, Checkpointable)
        assert await ask_all(service) == [1, 1]
        checkpoint, restore = make_event(TakeCheckpoint, service), make_event(Restore, service)
        checkpoint.check()
        restore.check()
        assert await checkpoint.happen() == {"size": 2}
        assert await ask_all(service) == [2, 2], "they go on after the checkpoint"
        before = [server.process.pid for server in service.servers]
        assert await restore.happen() == {"size": 2}
        assert not {server.process.pid for server in service.servers} & set(before)
        assert await ask_all(service) == [2, 2], "what came after the checkpoint is gone"
        await restore.heal()
        assert await ask_all(service) == [3, 3], "nothing had ended, so nothing began again"
        assert await service.is_settled()

    serving(OPTIONS, act)


def test_a_second_checkpoint_replaces_the_first(serving) -> None:
    async def act(service: Service[Any]) -> None:
        await service.checkpoint()
        await ask_all(service)
        await service.checkpoint()
        await service.restore()
        assert await ask_all(service) == [2, 2]

    serving(OPTIONS, act)


def test_a_command_can_save_it(serving) -> None:
    hooks = {"command": ["sh", "-c", "printf 40 > state"], "state_file": "state", "restore": HOOKS["restore"]}

    async def act(service: Service[Any]) -> None:
        assert await service.checkpoint() == 4
        await service.restore()
        assert await ask_all(service) == [41, 41]

    serving({**OPTIONS, "checkpoint": hooks}, act)


@pytest.mark.parametrize(
    ("hooks", "says"),
    [
        ({**HOOKS, "signal": "SIGUSR2"}, "it ended before it had saved its state in state"),
        ({"command": ["sh", "-c", "echo full >&2; exit 4"], "state_file": "s", "restore": ["x"]}, "full"),
        ({"command": ["true"], "state_file": "s", "restore": ["x"]}, "service web: .*s"),
    ],
)
def test_one_that_does_not_save_says_why(serving, hooks, says) -> None:
    async def act(service: Service[Any]) -> None:
        with pytest.raises(HostError, match=says):
            await service.checkpoint()

    serving({**OPTIONS, "checkpoint": hooks}, act)


def test_one_that_keeps_its_old_file_is_waited_for_in_vain(serving) -> None:
    """A file of an earlier save is none of this one."""
    options = {**OPTIONS, "run": [*RUN, "--forgetful"], "checkpoint": {**HOOKS, "within": "200ms"}}

    async def act(service: Service[Any]) -> None:
        for host in service.context.hosts:
            (Path(service.scratch(host)) / "state").write_text("7")
        with pytest.raises(HostError, match="service web: "):
            await service.checkpoint()

    serving(options, act)


def test_without_a_checkpoint_nothing_is_ended(serving) -> None:
    async def act(service: Service[Any]) -> None:
        with pytest.raises(HostError, match="state"):
            await service.restore()
        assert await ask_all(service) == [1, 1]

    serving(OPTIONS, act)


def test_one_that_was_not_told_how_is_refused_before_the_trial() -> None:
    context = ServiceContext("web", (), {}, Path("/x"), (), "x", ready_timeout=1, known={})
    service = make_service(KIND, {"run": ["x"]}, context, {})
    for kind in (TakeCheckpoint, Restore):
        with pytest.raises(UsageError, match="service web cannot be checkpointed: give it `checkpoint:`"):
            make_event(kind, service).check()


@pytest.mark.parametrize(
    ("hooks", "says"),
    [
        ({"state_file": "s", "restore": ["x"]}, "give either 'signal' or 'command'"),
        ({"signal": "SIGKILL", "state_file": "s", "restore": ["x"]}, "SIGUSR1"),
        ({"signal": "SIGHUP", "restore": ["x"]}, "state_file"),
    ],
)
def test_a_mistake_in_its_hooks_is_told(hooks, says) -> None:
    context = ServiceContext("web", (), {}, Path("/x"), (), "x", ready_timeout=1, known={})
    with pytest.raises(SpecError, match=says):
        make_service(KIND, {"run": ["x"], "checkpoint": hooks}, context, {})
