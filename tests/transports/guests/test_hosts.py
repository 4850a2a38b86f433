"""Guests that are killed, paused, or die by themselves, and come back."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path, PurePosixPath

import pytest

from guests import lease, listen, marked, say, site
from patience import PATIENCE, comes
from steelyard.errors import HostDown, HostLost
from steelyard.hosts.minder.processes import descendants, list_processes, read_proc
from steelyard.transports.guests.hosts import GuestHost

Hosts = tuple[GuestHost, ...]


def programs_of(host: GuestHost) -> list[int]:
    """Processes that are this guest, or run in it."""
    below = descendants(list_processes(), [host.lease.minder_pid])
    mark = f"ifname={host.name},".encode()
    return [pid for pid in below if mark in read_proc(f"/proc/{pid}/cmdline")]


def state(host: GuestHost) -> set[bytes]:
    table = list_processes()
    return {table[pid].state for pid in programs_of(host) if pid in table}


async def knock(host: GuestHost, other: GuestHost, seconds: float = PATIENCE / 2) -> bool:
    """Whether one reaches the server on the other in time."""
    script = f"import socket; socket.create_connection(('{other.address}', 4711), {seconds}); print('in')"
    return await host.capture(("python3", "-I", "-S", "-c", script), seconds=PATIENCE) == "in\n"


@pytest.fixture
def scratch(tmp_path: Path) -> PurePosixPath:
    return PurePosixPath(tmp_path / f"scratch-{os.urandom(4).hex()}")


@marked
def test_one_that_was_killed_is_booted_with_its_name_its_cards_and_its_scratch(tmp_path, scratch) -> None:
    async def story(hosts: Hosts) -> None:
        one, two = hosts
        await two.make_scratch(scratch)
        server = await listen(two, tmp_path)
        assert await comes(lambda: (tmp_path / "out").read_text() == "up\n")
        cards, boot = await say(two, "cat /sys/class/net/vec*/address"), two.machine
        await say(two, f"echo lost > /dev/shm/note; echo kept > {scratch}/note; sync")
        await two.kill_host()
        assert programs_of(two) == []
        for asked in (server.wait(), two.capture(("true",)), two.put(tmp_path / "out", scratch / "copy")):
            with pytest.raises(HostDown, match="host n2 is down: an event killed it"):
                await asked
        assert not await knock(one, two, 3)
        await two.revive()
        assert two.machine != boot
        assert await say(two, "uname -n; cat /sys/class/net/vec*/address") == f"n2\n{cards}"
        assert await say(two, f"cat {scratch}/note; ls /dev/shm") == "kept"
        await listen(two, tmp_path)
        assert await comes(lambda: (tmp_path / "out").read_text() == "up\n")
        assert await knock(one, two)
        again = two.machine
        await two.revive()
        assert two.machine == again, "who is there is left alone"

    lease(site(hosts=2), tmp_path, story)
    assert not Path(scratch).exists()


@marked
def test_any_account_keeps_data_on_its_disk_which_outlives_a_kill(tmp_path: Path) -> None:
    async def story(hosts: Hosts) -> None:
        (one,) = hosts
        base = one.scratch_base()
        assert base
        place = base / "steelyard-test"
        await one.make_scratch(place)
        write = f"chmod 711 {place}; cd {place}; mkdir data; chown 54321:54321 data; cd data; exec "
        script = "mkdir below; mkdir below/more; echo kept > below/more/note; sync"
        words = f"setpriv --reuid=54321 --regid=54321 --clear-groups sh -ec '{script}'"
        assert await one.capture(("sh", "-ec", write + words), seconds=PATIENCE) == ""
        await one.kill_host()
        await one.revive()
        assert (
            await say(one, f"cat {place}/data/below/more/note; stat -c %u {place}/data/below")
            == "kept\n54321"
        )
        assert not Path(place).exists(), "it is the guest's alone"
        await one.remove_scratch(place)
        assert await say(one, f"ls -d {place}") == ""

    lease(site(hosts=1), tmp_path, story)
    assert not list(tmp_path.glob("disks-*"))


@marked
def test_what_was_blocked_is_blocked_when_it_is_booted_again(tmp_path: Path) -> None:
    async def story(hosts: Hosts) -> None:
        one, two = hosts
        await listen(one, tmp_path)
        assert await comes(lambda: (tmp_path / "out").read_text() == "up\n")
        await two.block_addresses([one.address])
        await two.kill_host()
        await two.revive()
        assert not await knock(two, one, 3)
        await two.unblock_addresses([one.address])
        assert await knock(two, one)
        await two.kill_host()
        await two.block_addresses([one.address])
        await two.revive()
        assert not await knock(two, one, 3)
        await two.kill_host()
        await two.unblock_addresses([one.address])
        await two.revive()
        assert await knock(two, one)

    lease(site(hosts=2), tmp_path, story)


@marked
def test_one_that_is_paused_stands_still_and_goes_on(tmp_path: Path) -> None:
    async def story(hosts: Hosts) -> None:
        one, two = hosts
        await listen(two, tmp_path)
        assert await comes(lambda: (tmp_path / "out").read_text() == "up\n")
        boot = two.machine
        await two.pause_host()
        assert await comes(lambda: b"T" in state(two))
        assert not await knock(one, two, 3)
        answer = asyncio.ensure_future(two.capture(("uname", "-n"), seconds=PATIENCE))
        await two.continue_host()
        assert await answer == "n2\n"
        assert await knock(one, two)
        await two.pause_host()
        await two.kill_host()
        assert programs_of(two) == []
        await two.revive()
        assert two.machine != boot

    lease(site(hosts=2), tmp_path, story)


@marked
def test_one_that_is_cut_off_when_it_is_killed_stays_cut_off(tmp_path: Path) -> None:
    async def story(hosts: Hosts) -> None:
        one, two = hosts
        await two.cut()
        await two.kill_host()
        await two.revive()
        await listen(two, tmp_path)
        assert await comes(lambda: (tmp_path / "out").read_text() == "up\n")
        assert not await knock(one, two, 3)
        await two.heal()
        assert await knock(one, two)

    lease(site(hosts=2), tmp_path, story)


@marked
def test_one_that_panics_is_lost_with_its_last_words_and_booted_when_it_is_needed(tmp_path: Path) -> None:
    async def story(hosts: Hosts) -> None:
        (one,) = hosts
        with pytest.raises(HostLost, match=r"guest n1 ended by itself: .*Kernel panic - not syncing: sysrq"):
            await one.capture(("sh", "-c", "echo c > /proc/sysrq-trigger; sleep 600"), seconds=PATIENCE)
        assert programs_of(one) == []
        await one.check()
        assert await say(one, "uname -n") == "n1"

    lease(site(hosts=1), tmp_path, story)


@marked
def test_one_that_never_comes_up_again_is_lost_with_the_end_of_its_console(tmp_path, monkeypatch) -> None:
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "linux.uml").write_text(
        "#!/bin/sh\necho 'Kernel panic - not syncing: no memory'; echo 'Call Trace:'\nexit 1\n"
    )
    (fake / "linux.uml").chmod(0o755)

    async def story(hosts: Hosts) -> None:
        one, two = hosts
        await two.kill_host()
        with monkeypatch.context() as patched:
            patched.setenv("PATH", f"{fake}:{os.environ['PATH']}")
            with pytest.raises(HostLost) as lost:
                await two.revive()
        assert lost.value.message.endswith(
            "did not boot: its console ends: Kernel panic - not syncing: no memory"
        )
        assert "guest n2" in lost.value.message
        assert "n2.console" in lost.value.hint
        assert await say(one, "uname -n") == "n1"
        await two.revive()
        assert await say(two, "uname -n") == "n2"

    lease(site(hosts=2), tmp_path, story)


@marked
@pytest.mark.xdist_group("machine-settings")
def test_a_setting_of_a_guests_kernel_is_never_put_back_on_this_machine(tmp_path) -> None:
    swappiness = Path("/proc/sys/vm/swappiness")
    before = swappiness.read_text()
    other = str(int(before) + 1)

    async def story(hosts: Hosts) -> None:
        await hosts[0].restore_at_end(str(swappiness), other)

    lease(site(hosts=1), tmp_path, story)
    assert swappiness.read_text() == before
