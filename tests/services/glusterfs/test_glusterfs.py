"""GlusterFS for real: what a volume keeps without a server, and what it gains with more of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from steelyard.errors import HostError
from steelyard.services.glusterfs import Glusterfs

systems = loaded(Path(__file__).parents[1] / "file_systems.py")


def test_copies_outlive_a_server_which_is_healed_when_it_is_back():
    async def test(made: Any, service: Glusterfs) -> None:
        await systems.lose_a_server_and_heal(service, made.hosts[1].name)
        brick = Path(service.scratch(made.hosts[1])) / "bricks" / "brick-0"
        assert (brick / "meanwhile").stat().st_size == 2_000_000, "healed"
        logs = {path.name for path in (made.place / "logs").rglob("*")}
        assert logs

    systems.with_file_system("glusterfs", {"replicas": 2, "ping_timeout": "5s"}, test, servers=2)


@pytest.mark.full
def test_a_dispersed_volume_outlives_a_server():
    async def test(made: Any, service: Glusterfs) -> None:
        await systems.lose_a_server_and_heal(service, made.hosts[2].name)

    options = {"data": 2, "redundancy": 1, "shard": "4MiB"}
    systems.with_file_system("glusterfs", options, test, servers=3)


def test_it_grows_while_it_is_in_use():
    async def test(made: Any, service: Glusterfs) -> None:
        await systems.grow_and_see_space(service, 2)
        await systems.comes_to_be(service.is_settled)
        with pytest.raises(HostError, match="cannot have 3 hosts, at most 2"):
            await service.grow(3)

    systems.with_file_system("glusterfs", {}, test, servers=1, spare=1)


def test_hosts_that_make_no_whole_sets_are_refused_before_anything_starts():
    async def test(made: Any) -> None:
        service = made.service("glusterfs", {"data": 2, "redundancy": 1})
        with pytest.raises(HostError, match="2 bricks on 2 hosts do not make whole sets"):
            async with service.deploy():
                pytest.fail("it came up")
        assert service.servers == []

    systems.contract.needed("glusterfs")
    systems.contract.with_bench(test, hosts=2, network=True)
