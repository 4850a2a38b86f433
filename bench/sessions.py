"""`true` on 64 hosts by SSH, beside pdsh and clush: the same sshds, keys, and number of hosts at once.

Cold, connections are opened for it and closed again. Warm, our hosts are there already, as they are during a
run; pdsh and clush open connections every time. Theirs is the whole command, as they offer nothing else.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar

from bench.process import NotMeasured, in_turns, run
from bench.row import Row
from bench.setting import Setting
from bench.sshds import Fleet, fleet
from steelyard.errors import SteelyardError
from steelyard.hosts.base import Host, Streams
from steelyard.hosts.connect import AT_ONCE
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.transports.ssh.hosts import SshMachine, connect_machines
from steelyard.transports.ssh.login import Login
from steelyard.transports.ssh.transport import SshTransport

HOSTS = 64
MOST_COLD, MOST_WARM = 1.2, 0.5
LONGEST = 120.0  # seconds for `true` on all hosts

T = TypeVar("T")
Side = Callable[[], float]


def rows(setting: Setting) -> Iterator[Row]:
    """Cold and warm, each in turns with every peer that is here.

    The hosts of a run do more when they are reached (an agent, facts, the probe), here 64 times on one
    machine; they stand in the table without a limit.
    """
    hosts = 8 if setting.quick else HOSTS
    with fleet(setting.folder("sessions"), hosts) as sshds:
        peers = _peers(sshds)
        if not peers:
            raise NotMeasured("neither pdsh nor clush is installed (apt: pdsh, clustershell)")
        sessions: Side = lambda: _awaited(_sessions(sshds.logins()))  # noqa: E731
        agents: Side = lambda: _awaited(_agents(sshds.logins(), setting.fresh("cold")))  # noqa: E731
        found = in_turns(setting.turns, {"sessions": sessions, "agents": agents, **peers})
        for side, words in {
            "sessions": "connect, run, leave",
            "agents": "hosts of a run, with agents",
        }.items():
            for peer in peers:
                what = f"true on {hosts} SSH hosts, cold: {words}"
                most = MOST_COLD if side == "sessions" else None
                yield Row("sessions", what, "s", found[side], peer, found[peer], most=most)
        warm, theirs = _awaited(_warm(sshds.logins(), setting, peers))
        for peer, seconds in theirs.items():
            what = f"true on {hosts} SSH hosts, warm: connections are there"
            yield Row("sessions", what, "s", warm, peer, seconds, most=MOST_WARM)


def _peers(sshds: Fleet) -> dict[str, Side]:
    """The peers that are here, each with ssh(1) and the same settings."""
    first, last = sshds.addresses[0], sshds.addresses[-1].rpartition(".")[2]
    begin, _, number = first.rpartition(".")
    common = ("-S", "-f", str(AT_ONCE), "-w", f"{begin}.[{number}-{last}]")
    ssh = {**os.environ, "PDSH_SSH_ARGS_APPEND": f"-F {sshds.settings}"}
    commands = {
        "pdsh": ("pdsh", "-R", "ssh", *common, "true"),
        "clush": ("clush", "-n", *common, "-o", f"-F {sshds.settings}", "true"),
    }
    here = {name: argv for name, argv in commands.items() if shutil.which(name)}
    return {name: lambda argv=argv: run(argv, env=ssh).seconds for name, argv in here.items()}  # type: ignore[misc]


def _awaited(work: Awaitable[T]) -> T:
    """The outcome, within the time that all this may take. Raises NotMeasured."""

    async def bounded() -> T:
        async with asyncio.timeout(LONGEST):
            return await work

    try:
        return asyncio.run(bounded())
    except SteelyardError as error:
        raise NotMeasured(str(error)) from error
    except TimeoutError:
        raise NotMeasured(f"it took more than {LONGEST:g} s") from None


async def _sessions(logins: Sequence[Login]) -> float:
    """Seconds to connect to all, run `true` by the shell there, and leave, so many at once."""
    gate, began = asyncio.Semaphore(AT_ONCE), time.perf_counter()

    async def one(login: Login) -> None:
        async with gate:
            transport = SshTransport(login.host, login)
            try:
                await transport.open()
                _must_be_0(await (await transport.run("exec true")).wait())
            finally:
                await transport.close()

    await asyncio.gather(*map(one, logins))
    return time.perf_counter() - began


async def _agents(logins: Sequence[Login], folder: Path) -> float:
    """The same with all that hosts of a run have: an agent, facts, a directory of their own."""
    began = time.perf_counter()
    async with connect_machines(_machines(logins), Token.of("bench"), folder / "log") as hosts:
        await _true(hosts, folder)
    return time.perf_counter() - began


async def _warm(
    logins: Sequence[Login], setting: Setting, peers: dict[str, Side]
) -> tuple[tuple[float, ...], dict[str, tuple[float, ...]]]:
    """Seconds of `true` on all hosts that are there already, in turns with the peers."""
    folder, ours = setting.fresh("warm"), []
    theirs: dict[str, list[float]] = {name: [] for name in peers}
    async with connect_machines(_machines(logins), Token.of("bench"), folder / "log") as hosts:
        for _ in range(setting.turns):
            began = time.perf_counter()
            await _true(hosts, folder)
            ours.append(time.perf_counter() - began)
            for name, peer in peers.items():
                theirs[name].append(await asyncio.to_thread(peer))
    return tuple(ours), {name: tuple(seconds) for name, seconds in theirs.items()}


def _machines(logins: Sequence[Login]) -> list[SshMachine]:
    return [SshMachine(f"h{number}", login) for number, login in enumerate(logins, 1)]


async def _true(hosts: Sequence[Host], folder: Path) -> None:
    """Start `true` on all hosts, and see it to its end."""

    async def one(host: Host) -> None:
        streams = Streams(folder / f"{host.name}.out", folder / f"{host.name}.err")
        process = await host.start(Command(("true",)), streams, cwd=PurePosixPath("/"))
        _must_be_0((await process.wait()).code)

    await asyncio.gather(*map(one, hosts))


def _must_be_0(code: int | None) -> None:
    if code != 0:
        raise NotMeasured(f"true ended with {code}")
