"""What every event must declare, and that those which harm a network really do, and heal it."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from patience import PATIENCE
from steelyard.errors import UsageError
from steelyard.events.base import Event, EventContext
from steelyard.hosts.base import Host
from steelyard.hosts.sweep import end_bearers
from steelyard.hosts.token import Token
from steelyard.plugins import builtin_names, find
from steelyard.sites.local import Local, LocalOptions
from steelyard.sites.netns import Netns, NetnsOptions
from steelyard.testing.contract import EventContract

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin"),
    reason="network namespaces need root and iproute2",
)


def event(name: str, hosts: Sequence[Host], **options: object) -> Event:
    groups = {"db[0]": hosts[:1], "db[1:]": hosts[1:], "db": hosts}
    event_context = EventContext({}, lambda text: tuple(groups[text]), {}, Path("logs"))
    kind = find("events", name, Event)
    return kind(kind.Options.model_validate(options), event_context)


class TestEvents(EventContract):
    """Ours; what they do to services is tested with those."""

    names = builtin_names("events")


@pytest.fixture
def token() -> Token:
    found = Token.of(f"test-{secrets.token_hex(6)}")
    yield found
    end_bearers(lambda bearer: bearer.run == found.run)


async def reaches(host: Host, address: str, seconds: float) -> bool:
    """Whether a host gets an answer from an address in time: a refused connection is one, too."""
    script = (
        "import socket, sys\ntry: socket.create_connection((sys.argv[1], 9), timeout=float(sys.argv[2]))\n"
        "except ConnectionRefusedError: print('yes')\nexcept OSError: pass\n"
    )
    said = await host.capture(("python3", "-I", "-S", "-c", script, address, str(seconds)), seconds=PATIENCE)
    return (said or "").strip() == "yes"


@needs_root
@pytest.mark.parametrize(
    ("name", "options", "apart", "together"),
    [
        ("cut", {"on": "db[0]"}, [(0, 1), (1, 0), (2, 0)], [(1, 2)]),
        ("partition", {"between": ["db[0]", "db[1:]"]}, [(0, 1), (1, 0), (2, 0)], [(1, 2)]),
    ],
)
def test_hosts_are_apart_until_it_is_healed(name, options, apart, together, token, tmp_path) -> None:
    async def test() -> None:
        site = Netns(NetnsOptions(hosts=3, via="nsenter"))
        async with site.lease(token, tmp_path / "minder.log", 3) as hosts:

            async def found(pairs: list[tuple[int, int]], seconds: float = PATIENCE / 2) -> set[bool]:
                asked = (reaches(hosts[a], hosts[b].address, seconds) for a, b in pairs)
                return set(await asyncio.gather(*asked))

            one = event(name, hosts, **options)
            one.check()
            await one.happen()
            assert await found(apart, 1) == {False}
            assert await found(together) == {True}
            await one.heal()
            await one.heal()
            assert await found([*apart, *together]) == {True}

    asyncio.run(test())


@pytest.mark.parametrize(
    ("name", "options", "site"),
    [
        ("cut", {"on": "db"}, "netns"),
        ("partition", {"between": ["db[0]", "db[1:]"]}, "netns"),
        ("kill_host", {"on": "db"}, "guests"),
        ("pause_host", {"on": "db"}, "guests"),
    ],
)
def test_hosts_that_are_not_ours_are_left_alone(name, options, site, token, tmp_path) -> None:
    async def test() -> None:
        async with Local(LocalOptions(hosts=2)).lease(token, tmp_path / "minder.log", 2) as hosts:
            with pytest.raises(UsageError) as refused:
                event(name, hosts, **options).check()
            assert f"use the site {site}" in str(refused.value)

    asyncio.run(test())


@needs_root
def test_a_host_that_we_reach_over_the_cable_is_not_cut(token, tmp_path) -> None:
    if not shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin"):
        pytest.skip("sshd is not installed")

    async def test() -> None:
        async with Netns(NetnsOptions(hosts=1, via="ssh")).lease(token, tmp_path / "log", 1) as hosts:
            with pytest.raises(UsageError, match=r"reaches host .* over the network that would be cut"):
                event("cut", hosts, on="db").check()

    asyncio.run(test())
