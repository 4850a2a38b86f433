"""MooseFS for real: whom it lets in, what it keeps without a server, and what it gains with one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from loading import loaded
from patience import PATIENCE
from steelyard.errors import HostError
from steelyard.services.moosefs import Moosefs
from steelyard.services.moosefs.status import MoosefsStatus

systems = loaded(Path(__file__).parents[1] / "file_systems.py")


def test_it_heals_without_a_server_and_takes_it_back():
    async def test(made: Any, service: Moosefs) -> None:
        victim = made.hosts[1].name
        await systems.lose_a_server_and_heal(service, victim)
        await service.kill(victim)
        await systems.comes_to_be(service.is_settled)
        meters = await service.read_meters()
        assert meters["live_servers"] == 2, "the others have all copies"
        assert meters["copies"] == 2 * meters["chunks"] > 0
        said = await systems.inside(service, "mfsgetgoal . && mfsgettrashtime .")
        assert said.split() == [".:", "2", ".:", "0"]

    systems.with_file_system("moosefs", {}, test, servers=3)


@pytest.mark.parametrize(("later", "settled"), [({"undergoal": 1}, False), ({}, True)])
def test_health_from_before_a_server_left_is_not_taken_for_health_without_it(later, settled):
    servers = {"10.0.0.1": 1, "10.0.0.2": 1}
    answers = [MoosefsStatus(servers, {"stable": 3}), MoosefsStatus(servers, {"stable": 3, **later})]

    async def answer() -> MoosefsStatus:
        return answers.pop(0)

    live = [SimpleNamespace(exit=None, frozen=False, label="chunkserver", address=each) for each in servers]
    service: Any = SimpleNamespace(servers=live, _read_status=answer)
    assert asyncio.run(Moosefs.is_settled(service)) is settled


def test_it_grows_while_it_is_in_use():
    async def test(made: Any, service: Moosefs) -> None:
        await systems.grow_and_see_space(service, 3)
        with pytest.raises(HostError, match="cannot have 4 chunk servers, at most 3"):
            await service.grow(4)

    systems.with_file_system("moosefs", {}, test, servers=2, spare=1)


def test_nobody_mounts_it_without_the_password():
    async def test(made: Any, service: Moosefs) -> None:
        where = f"mfsmaster={service.addresses[made.hosts[0].name]},mfsport={service.ports.clients}"
        said, empty = [], made.place / "empty"
        empty.mkdir()
        for more in ("", ",mfspassword=wrong"):
            line = f"unshare --mount mfsmount -f -o {where}{more} {empty} 2>&1 || true"
            said.append(await made.hosts[-1].capture(("sh", "-c", line), seconds=PATIENCE))
        assert "mfsmaster register error: Password is needed" in said[0]
        assert "mfsmaster register error: Incorrect password" in said[1]

    systems.with_file_system("moosefs", {"replicas": 1}, test, servers=1)


def test_it_refuses_loopback_addresses_before_anything_starts():
    async def test(made: Any) -> None:
        service = made.service("moosefs", {})
        with pytest.raises(HostError, match=r"cannot run on local: .* loopback .* 127\.0\.0\.1"):
            async with service.deploy():
                pytest.fail("it came up")
        assert service.servers == []

    systems.contract.with_bench(test, hosts=1)
