"""Guests as hosts: each has a kernel and a network of its own, and nothing of them is left."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pydantic import ValidationError

from guests import lease, listen, marked, say, site
from patience import comes
from steelyard.errors import HostError, UsageError
from steelyard.hosts.base import Host, Streams
from steelyard.hosts.machine import identify_machine
from steelyard.model.command import Command
from steelyard.sites.guests import Guests


@marked
def test_each_has_a_kernel_a_network_and_our_files(tmp_path: Path) -> None:
    async def story(hosts: tuple[Host, ...]) -> None:
        assert [host.name for host in hosts] == ["n1", "n2"]
        boots = {host.machine for host in hosts}
        assert len(boots | {identify_machine()}) == 3
        assert [host.ground.machine for host in hosts] == [identify_machine()] * 2
        assert [host.cores for host in hosts] == [1, 1]
        assert 128 << 20 < hosts[0].memory <= 256 << 20
        assert await say(hosts[0], "stat -c %a /run/steelyard /run/steelyard/guest") == "755\n600"
        (tmp_path / "note").write_text("written outside")
        for host in hosts:
            assert await say(host, "uname -n") == host.name
            assert await say(host, "uname -r") != os.uname().release
            assert host.address in await say(host, "/sbin/ip addr show dev vec0 || ip addr show dev vec0")
            assert await say(host, f"cat '{tmp_path}/note'") == "written outside"

    lease(site(hosts=2, memory="256MiB"), tmp_path, story)


@marked
def test_one_that_is_cut_off_is_reached_all_the_same(tmp_path: Path) -> None:
    async def story(hosts: tuple[Host, ...]) -> None:
        one, two = hosts
        server = await listen(two, tmp_path)
        knock = (
            f"python3 -c 'import socket; socket.create_connection((\"{two.address}\", 4711), 5)' && echo in"
        )
        assert await comes(lambda: (tmp_path / "out").read_text() == "up\n")
        assert await say(one, knock) == "in"
        await two.cut()  # type: ignore[attr-defined]
        assert await say(one, knock) == ""
        await two.check()
        assert await say(two, "uname -n") == "n2"
        path, known = "PATH=$PATH:/sbin", f"until ip neigh show {two.address} | grep"
        assert await say(one, f"{path}; ip neigh flush to {two.address}; {knock}") == ""
        assert "FAILED" in await say(one, f"{path}; {known} FAILED; do sleep 0.1; done")
        await two.heal()  # type: ignore[attr-defined]
        assert "lladdr" in await say(one, f"{path}; {known} lladdr; do sleep 0.1; done")
        assert await say(one, knock) == "in"
        await one.block_addresses([two.address])  # type: ignore[attr-defined]
        assert await say(one, knock) == ""
        await one.unblock_addresses([two.address])  # type: ignore[attr-defined]
        assert await say(one, knock) == "in"
        await server.kill(grace=1)

    lease(site(hosts=2), tmp_path, story)


@marked
def test_what_runs_in_one_is_no_foreign_load(tmp_path: Path) -> None:
    async def story(hosts: tuple[Host, ...]) -> None:
        ground, before = hosts[0].ground, hosts[0].ground.own_user_time()
        streams = Streams(tmp_path / "out", tmp_path / "err")
        command = Command(("sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done"))
        ended = await (await hosts[0].start(command, streams, cwd=PurePosixPath(tmp_path))).wait()
        assert ended.code == 0
        assert ground.own_user_time() - before > 0.02, "its host counts what it takes"

    lease(site(hosts=1), tmp_path, story)


@marked
def test_a_guest_with_too_little_memory_says_why_it_does_not_boot(tmp_path: Path, monkeypatch) -> None:
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "linux.uml").write_text("#!/bin/sh\necho 'Kernel panic - not syncing: no memory'\nexit 1\n")
    (fake / "linux.uml").chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")

    async def story(_: Any) -> None:
        raise AssertionError

    with pytest.raises(HostError, match=r"guest n1 did not boot: .*Kernel panic - not syncing: no memory"):
        lease(site(hosts=1), tmp_path, story)


def test_a_number_is_the_number_of_guests() -> None:
    assert site(**Guests.parse_shorthand("3")).size() == 3
    assert site(**Guests.parse_shorthand("2:qemu")).options.kind == "qemu"
    with pytest.raises(UsageError, match="as in guests:4"):
        Guests.parse_shorthand("x")


@pytest.mark.parametrize("given", [{"hosts": 0}, {"memory": "1MiB"}, {"kind": "vbox"}, {"cores": 2}])
def test_wrong_options_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        site(**given)


@pytest.mark.parametrize(("kind", "program"), [("uml", "linux.uml"), ("qemu", "qemu-system-")])
def test_what_is_not_installed_is_told_without_a_boot(
    tmp_path: Path, monkeypatch, kind: str, program: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = asyncio.run(site(kind=kind).find_obstacles())
    assert any(program in each and "install" in each for each in said)


def test_a_reader_is_told_what_the_figures_do_not_say() -> None:
    assert "say nothing about virtual machines on hardware" in json.dumps(site().warnings())
