"""Machines reached by SSH, as hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from steelyard.remote.agent import Pace
from steelyard.remote.login import Login
from steelyard.remote.shell import ShellHost
from steelyard.remote.ssh import SshTransport
from steelyard.remote.together import together
from steelyard.remote.token import Token


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine and how it is to be used: `scratch` is for test data, `cores` says how many may be used."""

    name: str
    login: Login
    address: str | None = None
    scratch: PurePosixPath | None = None
    cores: int | None = None


@asynccontextmanager
async def machines(
    wanted: Sequence[Machine], token: Token, log: Path
) -> AsyncIterator[tuple[ShellHost, ...]]:
    """All of them, connected, in this order. Raises HostError that names each that could not be had."""
    async with together([_host(machine, token, log) for machine in wanted]) as hosts:
        for host, machine in zip(hosts, wanted, strict=True):
            host.cores = machine.cores or host.cores
        yield hosts


def pace(lost_after: float) -> Pace:
    """How patient an agent is where the controller bears so many seconds of silence: twice as long."""
    return Pace(beat=lost_after / 3, patience=lost_after * 2)


def _host(machine: Machine, token: Token, log: Path) -> ShellHost:
    transport = SshTransport(machine.name, machine.login, address=machine.address)
    return ShellHost(transport, token, log, pace=pace(machine.login.lost_after), scratch=machine.scratch)
