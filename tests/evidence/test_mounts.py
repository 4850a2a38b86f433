from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.evidence.environment import FileSystem, find_file_system
from steelyard.evidence.mounts import block_devices, find_disk, is_encrypted

# id, parent, device, root, mount point, options, -, type, source, options: see proc(5).
ROOT = "20 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw,errors=remount-ro\n"


def mount(path: str, table: str) -> tuple[str, str] | None:
    found = find_file_system(path, table)
    return (found.mount, found.type) if found else None


def test_a_recorded_table(recorded: Callable[[str], Any]) -> None:
    table = recorded("environment")["/proc/self/mountinfo"]
    assert find_file_system("/home/x", table) == FileSystem(
        mount="/",
        type="ext4",
        device="/dev/vda",
        options=("rw", "relatime", "discard", "resv_strict", "resuid=65534", "resgid=65534"),
        number="254:0",
    )
    assert mount("/dev/shm/x", table) == ("/dev/shm", "tmpfs")
    assert mount("/sys/fs/cgroup/cpu/x", table) == ("/sys/fs/cgroup/cpu", "cgroup")


def test_this_machine_agrees_with_the_kernel(tmp_path: Path) -> None:
    found = find_file_system(tmp_path.resolve(), Path("/proc/self/mountinfo").read_text())
    assert found is not None
    assert Path(found.mount).is_mount()
    major, minor = map(int, found.number.split(":"))
    assert (major << 8 | minor) == tmp_path.stat().st_dev or found.type == "btrfs"


def test_the_longest_mount_that_is_a_whole_part_of_the_path() -> None:
    table = ROOT + "30 20 8:2 / /data rw - xfs /dev/sda2 rw\n31 30 8:3 / /data/fast rw - ext2 /dev/sda3 rw\n"
    assert mount("/data/fast/x", table) == ("/data/fast", "ext2")
    assert mount("/data/faster", table) == ("/data", "xfs")
    assert mount("/database", table) == ("/", "ext4")


def test_a_later_mount_hides_an_earlier_one() -> None:
    table = ROOT + "30 20 8:2 / /data rw - xfs /dev/sda2 rw\n31 30 0:9 / /data rw - tmpfs none rw\n"
    assert mount("/data/x", table) == ("/data", "tmpfs")


def test_a_mount_above_hides_what_was_mounted_below_before() -> None:
    table = ROOT + "30 20 8:2 / /a/b rw - xfs /dev/sda2 rw\n31 20 0:9 / /a rw - tmpfs none rw\n"
    assert mount("/a/b/c", table) == ("/a", "tmpfs")


def test_blanks_in_a_mount_point_and_tags_before_the_dash() -> None:
    table = ROOT + r"30 20 0:5 / /my\040disk rw shared:1 master:2 - fuse.x a\134b rw" + "\n"
    found = find_file_system("/my disk/x", table)
    assert found == FileSystem("/my disk", "fuse.x", "a\\b", ("rw",), "0:5")


@pytest.mark.parametrize("table", ["", "nonsense\n", "1 1 8:1 / /data rw - ext4 /dev/sda rw\n"])
def test_nothing_known_is_none(table: str) -> None:
    assert find_file_system("/x", table) is None


def test_mounts_that_are_each_others_parents_end() -> None:
    table = (
        ROOT + "30 31 8:2 / /a rw - xfs a rw\n31 30 8:3 / /a rw - xfs b rw\n20 20 8:2 / /a rw - xfs c rw\n"
    )
    assert mount("/a/b", table) is not None


@given(st.lists(st.tuples(*[st.integers(1, 5)] * 2, st.sampled_from(["/", "/a", "/a/b", "/b"]))))
def test_any_table_ends_at_a_mount_on_the_way(entries: list[tuple[int, int, str]]) -> None:
    table = "".join(f"{i} {parent} 8:1 / {point} rw - ext4 dev rw\n" for i, parent, point in entries)
    found = find_file_system("/a/b/c", table)
    assert found is None or found.mount in ("/", "/a", "/a/b")


@given(st.text(), st.text())
def test_no_text_is_too_odd(path: str, table: str) -> None:
    find_file_system(path, table)


# A volume on LVM on LUKS on a partition, after Documentation/ABI/testing/sysfs-block and sysfs-block-dm.
STACK = {
    "/sys/block/sda/dev": "8:0\n",
    "/sys/block/sda/size": "2048\n",
    "/sys/block/sda/sda3/dev": "8:3\n",
    "/sys/block/sda/device/model": "DISK 2000  \n",
    "/sys/block/sda/queue/rotational": "1\n",
    "/sys/block/sda/queue/scheduler": "[none] mq-deadline\n",
    "/sys/block/dm-0/dev": "252:0\n",
    "/sys/block/dm-0/dm/uuid": "CRYPT-LUKS2-x\n",
    "/sys/block/dm-0/slaves/sda3/dev": "8:3\n",
    "/sys/block/dm-1/dev": "252:1\n",
    "/sys/block/dm-1/dm/uuid": "LVM-x\n",
    "/sys/block/dm-1/slaves/dm-0/dev": "252:0\n",
    "/sys/block/loop0/dev": "7:0\n",
}


def test_block_devices_and_what_they_stand_on() -> None:
    devices = block_devices(STACK)
    assert devices["sda"] == {
        "number": "8:0", "bytes": 1 << 20, "model": "DISK 2000", "rotational": True, "scheduler": "none",
        "partitions": {"sda3": "8:3"},
    }  # fmt: skip
    assert devices["dm-1"] == {"number": "252:1", "below": {"dm-0": "252:0"}}
    assert "loop0" not in devices


def test_a_partition_belongs_to_its_disk_and_encryption_is_seen_through_the_stack() -> None:
    devices = block_devices(STACK)
    assert find_disk("8:3", devices) == "sda"
    assert find_disk("9:9", devices) is None
    assert [is_encrypted(name, devices) for name in ("sda", "dm-0", "dm-1", "none")] == [
        False,
        True,
        True,
        False,
    ]


def test_devices_that_stand_on_each_other_end() -> None:
    devices = {"a": {"number": "1:1", "below": {"b": "1:2"}}, "b": {"number": "1:2", "below": {"a": "1:1"}}}
    assert not is_encrypted("a", devices)
