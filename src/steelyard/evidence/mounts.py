"""Mounts and block devices. Sources: proc(5) on mountinfo; the kernel's Documentation/ABI on /sys/block."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from steelyard.evidence.raw import Raw, drop_empty, match_files, parse_selection, read_number, read_word
from steelyard.evidence.secrets import redact_login, redact_options, redact_value

BLOCK_FILES = tuple(
    f"/sys/block/*/{name}"
    for name in (
        "dev",
        "size",
        "*/dev",
        "dm/uuid",
        "slaves/*/dev",
        "device/model",
        "device/queue_depth",
        "queue/rotational",
        "queue/scheduler",
        "queue/nr_requests",
        "queue/read_ahead_kb",
        "queue/write_cache",
        "queue/logical_block_size",
    )
)
_NOT_A_DISK = ("loop", "ram", "zram", "sr", "fd")
_KERNEL_ONLY = re.compile(
    r"autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|efivarfs|fusectl|hugetlbfs|mqueue|nsfs|"
    r"proc|pstore|rpc_pipefs|securityfs|selinuxfs|sysfs|tracefs"
)


@dataclass(frozen=True, slots=True)
class FileSystem:
    """A mounted file system. `number` is its device as `major:minor`; credentials are taken out."""

    mount: str
    type: str
    device: str
    options: tuple[str, ...]
    number: str


class _Mount(NamedTuple):
    id: str
    parent: str
    system: FileSystem


def find_file_system(path: str | PurePosixPath, mountinfo: str) -> FileSystem | None:
    """The file system that holds an absolute path without symbolic links.

    `mountinfo` is the content of /proc/self/mountinfo. The kernel's own walk is followed: from the root to
    the mount on the way that comes first, again from there, so that what a later mount hides stays hidden.
    """
    mounts = list(_parse_mounts(mountinfo))
    ids = {mount.id for mount in mounts}
    on_the_way = [mount for mount in mounts if PurePosixPath(path).is_relative_to(mount.system.mount)]
    tops = [mount for mount in on_the_way if mount.parent not in ids or mount.parent == mount.id]
    here = max(tops, key=lambda mount: len(mount.system.mount), default=None)
    passed = set()
    while here and here.id not in passed:
        passed.add(here.id)
        below = [m for m in on_the_way if m.parent == here.id and m.id not in passed]
        here = min(reversed(below), key=lambda mount: len(mount.system.mount), default=here)
    return here.system if here else None


def mounts(mountinfo: str) -> list[dict[str, Any]]:
    """All mounts that hold files of people, not of the kernel, in the order they were made."""
    systems = (mount.system for mount in _parse_mounts(mountinfo))
    return [asdict(system) for system in systems if not _KERNEL_ONLY.fullmatch(system.type)]


def block_devices(raw: Raw) -> dict[str, dict[str, Any]]:
    """Disks and stacked devices by name: sizes in bytes, `partitions` by name, `below`: what it stands on."""
    names = [name for name in match_files(raw, "/sys/block/*/dev") if not name.startswith(_NOT_A_DISK)]
    inside = {
        "partitions": match_files(raw, "/sys/block/*/*/dev"),
        "below": match_files(raw, "/sys/block/*/slaves/*/dev"),
    }
    return {name: {**_block_device(raw, name), **_related_devices(name, inside)} for name in names}


def find_disk(number: str, devices: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The block device with that `major:minor`, or the one of which that is a partition."""
    for name, device in devices.items():
        if number == device.get("number") or number in device.get("partitions", {}).values():
            return name
    return None


def is_encrypted(name: str, devices: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a device is dm-crypt, or stands on one."""
    waiting, seen = [name], set[str]()
    while waiting:
        device = devices.get(here := waiting.pop(), {})
        if device.get("encrypted"):
            return True
        seen.add(here)
        below = (find_disk(number, devices) for number in device.get("below", {}).values())
        waiting += [disk for disk in below if disk and disk not in seen]
    return False


def _block_device(raw: Raw, name: str) -> dict[str, Any]:
    queue, device = f"/sys/block/{name}/queue", f"/sys/block/{name}/device"
    sectors, ahead = read_number(raw, f"/sys/block/{name}/size"), read_number(raw, f"{queue}/read_ahead_kb")
    turning = read_number(raw, f"{queue}/rotational")
    return drop_empty(
        number=read_word(raw, f"/sys/block/{name}/dev"),
        bytes=None if sectors is None else sectors * 512,
        model=read_word(raw, f"{device}/model"),
        rotational=None if turning is None else bool(turning),
        scheduler=parse_selection(read_word(raw, f"{queue}/scheduler")),
        requests=read_number(raw, f"{queue}/nr_requests"),
        queue_depth=read_number(raw, f"{device}/queue_depth"),
        read_ahead=None if ahead is None else ahead * 1024,
        write_cache=read_word(raw, f"{queue}/write_cache"),
        block_size=read_number(raw, f"{queue}/logical_block_size"),
        encrypted=True if raw.get(f"/sys/block/{name}/dm/uuid", "").startswith("CRYPT-") else None,
    )


def _related_devices(name: str, inside: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    start = f"{name}/"
    return drop_empty(
        **{
            kind: {path.removeprefix(start): text for path, text in numbers.items() if path.startswith(start)}
            for kind, numbers in inside.items()
        }
    )


def _parse_mounts(mountinfo: str) -> Iterator[_Mount]:
    for line in mountinfo.splitlines():
        fields = line.split(" ")
        try:
            end = fields.index("-", 6)
            kind, device, more = fields[end + 1 : end + 4]
        except ValueError:
            continue
        options = dict.fromkeys((*redact_options(_unescape(fields[5])), *redact_options(_unescape(more))))
        system = FileSystem(
            mount=_unescape(fields[4]),
            type=kind,
            device=redact_value(redact_login(_unescape(device))),
            options=tuple(options),
            number=fields[2],
        )
        yield _Mount(fields[0], fields[1], system)


def _unescape(field: str) -> str:
    r"""Blanks and backslashes are written as octal numbers in mountinfo: `\040`."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
