from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pydantic import ValidationError

from patience import comes
from steelyard.errors import HostError, HostLost, UsageError
from steelyard.hosts.base import Host, Process, Streams
from steelyard.hosts.sweep import find_bearers
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.sites import netns
from steelyard.sites.netns import Netns, NetnsOptions
from steelyard.transports.namespaces.holders import find_sshd, search_path
from steelyard.transports.namespaces.network import NEEDS

MISSING = [program for program in NEEDS if not shutil.which(program, path=search_path())]
needs_root = [
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]
needs_sshd = [*needs_root, pytest.mark.skipif(find_sshd() is None, reason="no sshd is installed")]
both = [pytest.param("ssh", marks=needs_sshd), pytest.param("nsenter", marks=needs_root)]


def site(**given: Any) -> Netns:
    return Netns(NetnsOptions.model_validate({"lost_after": "5min", **given}))


def leased(made: Netns, tmp_path: Path, story: Callable[[tuple[Host, ...]], Awaitable[Any]]) -> Any:
    """Tell a story with the hosts; afterwards nothing of the run may be left."""
    token = Token.of(f"test-netns-{os.getpid()}")

    async def tell() -> Any:
        async with made.lease(token, tmp_path / "log", None) as hosts:
            return await story(hosts)

    before = set(Path(os.environ["TMPDIR"]).iterdir())
    told = asyncio.run(tell())
    assert not find_bearers(lambda found: found == token)
    assert set(Path(os.environ["TMPDIR"]).iterdir()) == before
    return told


async def start(host: Host, tmp_path: Path, script: str) -> tuple[Process, Path]:
    streams = Streams(tmp_path / f"{host.name}.out", tmp_path / f"{host.name}.err")
    process = await host.start(Command(("sh", "-c", script)), streams, cwd=PurePosixPath(tmp_path))
    return process, streams.stdout


# What people write


def test_a_number_is_the_number_of_hosts() -> None:
    assert site(**Netns.parse_shorthand("4")).size() == 4


@pytest.mark.parametrize("argument", ["", "x", "-1", "4,5", "²"])
def test_anything_else_is_refused(argument: str) -> None:
    with pytest.raises(UsageError, match="as in netns:4"):
        Netns.parse_shorthand(argument)


@pytest.mark.parametrize(
    "given", [{"hosts": 0}, {"hosts": 251}, {"via": "telnet"}, {"rate": "0B/s"}, {"rate": 5}]
)
def test_wrong_options_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        site(**given)


def test_what_is_not_noticed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert site(via="ssh").warnings() == ()
    assert "nsenter was chosen" in site(via="nsenter").warnings()[0]
    monkeypatch.setattr(netns, "find_sshd", lambda: None)
    assert "no sshd is installed" in site().warnings()[0]


def test_who_is_not_root_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    async def story(_: Any) -> None:
        raise AssertionError

    with pytest.raises(HostError, match=r"(?s)need root.*local:N"):
        leased(site(), tmp_path, story)


# Hosts


@pytest.mark.parametrize("via", both)
def test_hosts_have_names_addresses_and_one_kernel(tmp_path: Path, via: str) -> None:
    async def story(hosts: tuple[Host, ...]) -> None:
        assert [host.name for host in hosts] == ["n1", "n2", "n3"]
        assert len({host.address for host in hosts}) == 3
        assert len({host.machine for host in hosts}) == 1
        assert all(host.shares_files for host in hosts)
        assert all(host.facts["cut"].endswith(f"ip link set {host.name} down") for host in hosts)
        for host in hosts:
            assert await host.capture(("uname", "-n")) == f"{host.name}\n"
            assert await host.which("sh")

    leased(site(hosts=3, via=via), tmp_path, story)


@pytest.mark.parametrize("via", both)
def test_a_program_runs_and_is_ended(tmp_path: Path, via: str) -> None:
    async def story(hosts: tuple[Host, ...]) -> None:
        process, said = await start(hosts[0], tmp_path, "uname -n; pwd; setsid sleep 300 & exec sleep 300")
        assert await comes(lambda: said.read_text() == f"n1\n{tmp_path}\n")
        await process.kill(grace=1)
        assert (await process.wait()).signal == 15
        (tmp_path / "here").write_text("content")
        scratch = PurePosixPath(tmp_path / "scratch")
        await hosts[0].make_scratch(scratch)
        await hosts[0].put(tmp_path / "here", scratch / "there")
        await hosts[1].get(scratch / "there", tmp_path / "back")
        assert (tmp_path / "back").read_text() == "content"

    leased(site(hosts=2, via=via), tmp_path, story)
    assert not (tmp_path / "scratch").exists()


@pytest.mark.parametrize("via", [both[0]])
def test_a_host_that_is_cut_off_is_lost_and_ends_everything_by_itself(tmp_path: Path, via: str) -> None:
    async def story(hosts: tuple[Host, ...]) -> None:
        one, two = hosts
        await one.make_scratch(PurePosixPath(tmp_path / "scratch"))
        process, said = await start(
            one, tmp_path, "echo $$; trap '' TERM; setsid sleep 300 & sleep 300; sleep 300"
        )
        other, _ = await start(two, tmp_path, "exec sleep 300")
        assert await comes(lambda: said.read_text() != "")
        pid = int(said.read_text())
        await one.cut()  # type: ignore[attr-defined]
        with pytest.raises(HostLost, match="host n1 is lost: it has not answered for 10 s"):
            await process.wait()
        assert await comes(lambda: not Path(f"/proc/{pid}").exists()), "its agent is to end it, unasked"
        assert await comes(lambda: not (tmp_path / "scratch").exists())
        assert (await two.capture(("echo", "well"))) == "well\n"
        await one.heal()  # type: ignore[attr-defined]
        await one.check()
        assert (await one.capture(("uname", "-n"))) == "n1\n"
        await other.kill(grace=1)

    leased(site(hosts=2, via=via, lost_after="10s"), tmp_path, story)


@pytest.mark.parametrize("via", [both[0]])
def test_leaving_while_a_host_is_cut_off_leaves_nothing(tmp_path: Path, via: str) -> None:
    async def story(hosts: tuple[Host, ...]) -> None:
        await start(hosts[0], tmp_path, "setsid sleep 300 & exec sleep 300")
        await hosts[0].cut()  # type: ignore[attr-defined]

    leased(site(hosts=2, via=via, lost_after="1s"), tmp_path, story)
