"""Set what a host's kernel offers for setting, and have it put back, whatever happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import PurePosixPath

from steelyard.errors import HostError
from steelyard.hosts.base import Host
from steelyard.model.keys.machine import DISK, MachineSetting, parse_setting

_WRITE = 'exec 2>&1; printf %s "$2" >"$1" || :'
# A partition has no scheduler of its own; what is on no disk, such as a tmpfs, has none at all.
_FIND_DISK = """\
disk=$(stat -c %Hd:%Ld "$1")
[ ! -e "/sys/dev/block/$disk/partition" ] || disk=$(cat "/sys/dev/block/$disk/../dev")
echo "$disk"
"""


@asynccontextmanager
async def change_setting(host: Host, setting: MachineSetting, scratch: PurePosixPath) -> AsyncIterator[str]:
    """A setting for as long as the block lasts; what it was before. Raises HostError.

    Should the controller be killed, the host's agent puts it back.
    """
    path = await _find_path(host, setting, scratch)
    before = await _read(host, setting, path)
    await host.restore_at_end(path, before)
    try:
        await _write(host, setting, path, setting.value)
        yield before
    finally:
        await _write(host, setting, path, before)
        await host.restore_at_end(path, "")


async def _find_path(host: Host, setting: MachineSetting, scratch: PurePosixPath) -> str:
    if DISK not in setting.path:
        return setting.path
    disk = (await host.capture(("sh", "-c", _FIND_DISK, "sh", str(scratch))) or "").strip()
    return setting.path.replace(DISK, disk)


async def _read(host: Host, setting: MachineSetting, path: str) -> str:
    content = (await host.read([path])).get(path)
    if content is None:
        raise HostError(f"machine: {setting.key} cannot be set on {host.name}, which has no {path}")
    return parse_setting(content)


async def _write(host: Host, setting: MachineSetting, path: str, value: str) -> None:
    """Write it and read it again, as a kernel may grant less than it is asked for."""
    complaint = await host.capture(("sh", "-c", _WRITE, "sh", path, value))
    got = await _read(host, setting, path)
    if got != value:
        why = f": {complaint.strip()}" if complaint and complaint.strip() else ""
        raise HostError(f"machine: {setting.key} is {got} on {host.name} and not {value}{why}")
