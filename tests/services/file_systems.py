"""Distributed file systems for real, on hosts with networks of their own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from patience import PATIENCE
from steelyard.model.command import Command
from steelyard.services.base import Service
from steelyard.services.kit.capabilities import Growable, Killable, Metered
from steelyard.services.kit.mounting import MountedService

contract = loaded(Path(__file__).parents[1] / "contract" / "test_services.py")
Test = Callable[[Any, Any], Awaitable[None]]


def with_file_system(name: str, options: dict[str, Any], test: Test, *, servers: int, spare: int = 0) -> None:
    """Run a test on a service that is mounted on a host beside those of its servers."""
    contract.needed(name)
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")

    async def run(made: Any) -> None:
        hosts, client = made.hosts[:servers], made.hosts[-1]
        more = {"spare": made.hosts[servers:-1], "mount_on": (client,), "clients": (client.address,)}
        service = made.service(name, options, hosts=hosts, **more)
        async with service.deploy():
            await test(made, service)
        assert await made.is_empty()
        places = [str(path) for path in made.place.rglob("mnt")]
        table = Path("/proc/self/mountinfo").read_text()
        assert not [place for place in places if place in table], "nobody else has seen the mount"

    contract.with_bench(run, hosts=servers + spare + 1, network=True)


async def inside(service: MountedService[Any], script: str) -> str | None:
    """What a script prints in the file system."""
    (mount,) = service.mounts.values()
    point = service.mount_point(mount.host.name)
    command = point.enter(Command(("sh", "-euc", script)), point.path)
    return await mount.host.capture(command.argv, seconds=PATIENCE)


async def comes_to_be(question: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await question():  # noqa: ASYNC110 - nothing tells us
            await asyncio.sleep(0.2)


async def lose_a_server_and_heal(service: Service[Any], victim: str) -> None:
    """Files are there and can be written while a server is dead, and all is well when it is back."""
    assert isinstance(service, MountedService)
    assert isinstance(service, Killable)
    assert await inside(service, "head -c 3000000 /dev/urandom > before; sha256sum before > sums") == ""
    await comes_to_be(service.is_settled)
    await service.kill(victim)
    await inside(service, "head -c 2000000 /dev/urandom > meanwhile; sha256sum meanwhile >> sums; sync .")
    assert "OK" in (await inside(service, "sha256sum -c sums") or "")
    await service.restart(victim)
    await comes_to_be(service.is_settled)
    assert (await inside(service, "sha256sum -c sums") or "").count("OK") == 2


async def grow_and_see_space(service: Service[Any], to: int) -> None:
    """Clients see the space of a server that joins, and what was there is still there."""
    assert isinstance(service, MountedService)
    assert isinstance(service, Growable)
    assert isinstance(service, Metered)
    size = "set -- $(stat -f -c '%b %S' .); echo $(($1 * $2))"
    await inside(service, "echo kept > file")

    async def is_larger_than(before: int) -> bool:
        return int(await inside(service, size) or 0) > before

    async def are_more_than(before: dict[str, float]) -> bool:
        meters = await service.read_meters()
        return all(meters.get(name, 0) > value for name, value in before.items())

    names = ("total_bytes", "live_servers")
    # Clients and meters tell of a server at different times, and of some later than of others.
    await comes_to_be(lambda: is_larger_than(0))
    await comes_to_be(lambda: are_more_than(dict.fromkeys(names, 0)))
    before, meters = int(await inside(service, size) or 0), await service.read_meters()
    await service.grow(to)
    await comes_to_be(lambda: is_larger_than(before))
    await comes_to_be(lambda: are_more_than({name: meters[name] for name in names}))
    assert await inside(service, "cat file") == "kept\n"
