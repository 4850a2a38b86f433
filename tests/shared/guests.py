"""Guests for tests: a lease of some, and what is done with them."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from patience import PATIENCE
from steelyard.hosts.base import Host, Process, Streams
from steelyard.hosts.sweep import find_bearers
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.sites.guests import Guests, GuestsOptions
from steelyard.transports.guests.opening import list_obstacles
from steelyard.transports.namespaces.holders import find_sshd, search_path
from steelyard.transports.namespaces.network import NEEDS

MISSING = [each for each in (*NEEDS, "linux.uml", "mkfs.ext4") if not shutil.which(each, path=search_path())]
needs_guests = [
    pytest.mark.skipif(os.geteuid() != 0, reason="guests need root"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(find_sshd() is None, reason="no sshd is installed"),
]


LACKING = list_obstacles("qemu")
needs_qemu = pytest.mark.skipif(bool(LACKING), reason="; ".join(LACKING))


def marked(test):
    for mark in needs_guests:
        test = mark(test)
    return test


def site(**given: Any) -> Guests:
    return Guests(GuestsOptions.model_validate({"lost_after": "5min", **given}))


def list_addresses() -> str:
    return subprocess.run(["ip", "-o", "addr"], capture_output=True, text=True, check=True).stdout


def lease(made: Guests, tmp_path: Path, story: Callable[[tuple[Host, ...]], Awaitable[Any]]) -> None:
    """Tell a story with the hosts; afterwards nothing of the run may be left."""
    token = Token.of(f"test-guests-{os.getpid()}")

    async def tell() -> str:
        async with made.lease(token, tmp_path / "log", None) as hosts:
            await story(hosts)
            return hosts[0].address.rpartition(".")[0]

    network = asyncio.run(tell())
    assert not find_bearers(lambda found: found == token)
    assert f" {network}." not in list_addresses()


async def say(host: Host, script: str) -> str:
    said = await host.capture(("sh", "-c", script), seconds=PATIENCE)
    return (said or "").strip()


async def listen(host: Host, place: Path) -> Process:
    """A server on the host, at its address in the network that can be cut."""
    serve = (
        f"import socket, time; s = socket.create_server(('{host.address}', 4711)); "
        "print('up', flush=True); time.sleep(600)"
    )
    streams = Streams(place / "out", place / "err")
    return await host.start(Command(("python3", "-c", serve)), streams, cwd=PurePosixPath(place))
