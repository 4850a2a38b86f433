"""Real guests of QEMU: what they have, and what a checkpoint leaves as it was."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from guests import lease, listen, marked, needs_qemu, say, site
from patience import comes
from steelyard.errors import HostError
from steelyard.hosts.base import Process, Streams
from steelyard.model.command import Command
from steelyard.transports.guests.hosts import QemuGuestHost

pytestmark = [
    pytest.mark.full,  # a guest that is emulated takes ten seconds to boot, and minutes beside other tests
    needs_qemu,
]
Hosts = tuple[QemuGuestHost, ...]
COUNT = "i=0; while :; do i=$((i + 1)); echo $i; sleep 0.1; done"
ECHO = """\
import socket, sys, time
peer = socket.create_connection((sys.argv[1], 4712))
number = 0
while True:
    peer.sendall(b"%d\\n" % number)
    assert int(peer.makefile("rb").readline()) == number
    number += 1
    print(number, flush=True)
    time.sleep(0.05)
"""
SERVE = """\
import socket, sys
door = socket.create_server((sys.argv[1], 4712))
print("up", flush=True)
peer, _ = door.accept()
while data := peer.recv(4096):
    peer.sendall(data)
"""


async def start(host: QemuGuestHost, place: Path, name: str, *argv: str) -> tuple[Process, Path]:
    streams = Streams(place / f"{name}.out", place / f"{name}.err")
    return await host.start(Command(argv), streams, cwd=PurePosixPath(place)), streams.stdout


def last(path: Path) -> int:
    """The last whole number of a file, or 0."""
    return int((path.read_text().split("\n")[:-1] or ["0"])[-1])


@marked
def test_each_is_a_machine_that_has_our_files_and_keeps_its_connections_when_it_is_saved(tmp_path) -> None:
    async def story(hosts: Hosts) -> None:
        one, two = hosts
        assert one.facts["guest"] in {"qemu (KVM)", "qemu (emulated)"}
        assert one.cores == 2
        assert await say(one, "uname -n; cat /proc/mounts | grep -c ' / nfs '") == "n1\n1"
        assert (
            await say(one, "stat -c %a /run/steelyard /run/steelyard/disk /run/steelyard/guest")
            == "755\n755\n600"
        )
        (tmp_path / "note").write_text("written outside")
        assert await say(two, f"cat {tmp_path}/note; echo inside > {tmp_path}/other") == "written outside"
        assert (tmp_path / "other").read_text() == "inside\n"
        counter, counted = await start(one, tmp_path, "count", "sh", "-c", COUNT)
        server, up = await start(one, tmp_path, "serve", "python3", "-c", SERVE, one.address)
        assert await comes(lambda: up.read_text() == "up\n")
        client, echoed = await start(two, tmp_path, "echo", "python3", "-c", ECHO, one.address)
        assert await comes(lambda: last(counted) > 3 and last(echoed) > 3)
        boot = one.machine
        assert await one.checkpoint_host() > 1 << 20
        assert not one.guest.is_running
        before = last(counted), last(echoed)
        await one.restore_host()
        assert await comes(lambda: last(counted) > before[0] and last(echoed) > before[1] + 3)
        numbers = list(map(int, counted.read_text().split("\n")[:-1]))
        assert numbers == list(range(1, len(numbers) + 1)), "it went on with the next number"
        await one.check()
        assert one.machine == boot
        assert one._clock
        await one._clock
        assert abs((await one.read_clock_offset()).offset) < 60, "its clock was set"
        for process in (client, server, counter):
            await process.kill(grace=1)

    lease(site(hosts=2, kind="qemu", cores=2, memory="256MiB"), tmp_path, story)
    assert not list(tmp_path.glob("disks-*"))


@marked
def test_an_altered_state_is_refused_and_the_guest_is_booted_when_it_is_needed(tmp_path: Path) -> None:
    async def story(hosts: Hosts) -> None:
        (one,) = hosts
        boot = one.machine
        await one.checkpoint_host()
        (file,) = tmp_path.glob("disks-*/n1.state")
        assert file.stat().st_mode & 0o777 == 0o600
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        with pytest.raises(HostError, match=r"guest n1: .*n1\.state is not what was saved"):
            await one.restore_host()
        assert not file.exists()
        await one.check()
        assert one.machine != boot
        assert await say(one, "uname -n") == "n1"

    lease(site(hosts=1, kind="qemu", memory="256MiB"), tmp_path, story)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A directory on a file system that has room for no state."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


@marked
def test_one_without_room_for_its_state_goes_on(small: Path) -> None:
    async def story(hosts: Hosts) -> None:
        (one,) = hosts
        counter, counted = await start(one, small, "count", "sh", "-c", COUNT)
        with pytest.raises(HostError, match=r"host n1: its state was not saved to .*/n1\.state") as refused:
            await one.checkpoint_host()
        assert "as much room" in (refused.value.hint or "")
        assert not list(small.glob("disks-*/n1.state"))
        before = last(counted)
        assert await comes(lambda: last(counted) > before)
        await counter.kill(grace=1)

    lease(site(hosts=1, kind="qemu", memory="256MiB", disk="16MiB"), small, story)


@marked
def test_one_is_paused_killed_and_booted_like_every_guest(tmp_path: Path) -> None:
    async def story(hosts: Hosts) -> None:
        (one,) = hosts
        boot = one.machine
        await one.pause_host()
        answer = asyncio.ensure_future(one.capture(("uname", "-n"), seconds=600))
        await one.continue_host()
        assert await answer == "n1\n"
        await listen(one, tmp_path)
        await one.kill_host()
        await one.revive()
        assert one.machine != boot

    lease(site(hosts=1, kind="qemu", memory="256MiB"), tmp_path, story)
