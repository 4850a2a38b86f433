"""Machines reached by SSH, as hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from steelyard.hosts.agent.agent import AgentTimeouts
from steelyard.hosts.connect import connect_all
from steelyard.hosts.shell import ShellHost
from steelyard.hosts.token import Token
from steelyard.transports.ssh.login import Login
from steelyard.transports.ssh.transport import SshTransport


@dataclass(frozen=True, slots=True)
class SshMachine:
    """A machine and how it is to be used: `scratch` is for test data, `cores` says how many may be used."""

    name: str
    login: Login
    address: str | None = None
    scratch: PurePosixPath | None = None
    cores: int | None = None


@asynccontextmanager
async def connect_machines(
    wanted: Sequence[SshMachine], token: Token, log: Path
) -> AsyncIterator[tuple[ShellHost, ...]]:
    """All of them, connected, in this order. Raises HostError that names each that could not be had."""
    async with connect_all([_make_host(machine, token, log) for machine in wanted]) as hosts:
        for host, machine in zip(hosts, wanted, strict=True):
            host.cores = machine.cores or host.cores
        yield hosts


def _make_host(machine: SshMachine, token: Token, log: Path) -> ShellHost:
    transport = SshTransport(machine.name, machine.login, address=machine.address)
    return ShellHost(
        transport,
        token,
        log,
        pace=AgentTimeouts.for_silence(machine.login.lost_after),
        scratch=machine.scratch,
    )
