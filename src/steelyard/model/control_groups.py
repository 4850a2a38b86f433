"""Limits that a control group of the kernel holds a process to, of version 1 or 2 (cgroups(7)).

What is here only describes: a program of the shell that makes a group, enters it, and becomes the command;
what lists and removes groups whose processes are gone. A group is called `steelyard:` and the token of its
run, so that it is found when all else is dead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from steelyard.errors import UnitError, UsageError
from steelyard.model.command import Command
from steelyard.units import Rate, Share, Size

PERIOD = 100_000
"""That of a quota, in us: the kernel's default, and systemd's."""

_PAGE = 4096
# What the kernel says of the group that the process is in: where it is seen from outside, or else as a root.
# Of version 2 there is one, without a name.
REPORT = """\
find_own() { sed -n "s/^[0-9]*:\\(.*,\\)*$1\\(,.*\\)*:\\(.*\\)/\\3/p" /proc/self/cgroup; }
report() {
    own=$(find_own "")
    for root in "/sys/fs/cgroup$own" /sys/fs/cgroup; do
        [ -e "$root/memory.max" ] || continue
        echo "Limit quota $(cat "$root/cpu.max")"; echo "Limit memory $(cat "$root/memory.max")"
        sed 's/^/Limit io /' "$root/io.max"
        return
    done
    for kind in cpu memory blkio; do
        own=$(find_own "$kind")
        root=/sys/fs/cgroup/$kind$own
        [ -d "$root" ] || root=/sys/fs/cgroup/$kind
        case $kind in
        cpu) echo "Limit quota $(cat "$root/cpu.cfs_quota_us") $(cat "$root/cpu.cfs_period_us")" ;;
        memory) echo "Limit memory $(cat "$root/memory.limit_in_bytes")" ;;
        blkio) sed 's/ / rbps=/; s/^/Limit io /' "$root/blkio.throttle.read_bps_device" ;;
        esac
    done
}
"""
_ENTER = """\
quota=$1 memory=$2 reads=$3 writes=$4 told=$5; shift 5
ours="steelyard:$STEELYARD_TOKEN:"
fail() { echo "$1 cannot be limited here: $2" >&2; exit 125; }
put() { { echo "$3" > "$2"; } 2> /dev/null || fail "$1" "$2 does not take $3"; }
make() {
    rmdir "$2/$ours"* 2> /dev/null
    group="$2/$ours$$"
    mkdir "$group" 2> /dev/null || [ -d "$group" ] || fail "$1" "be root, or have $2 delegated to you"
}
find_disk() {
    number=$(stat -c %d .)
    disk=$((number >> 8 & 4095)):$((number & 255 | number >> 12 & 1048320))
    [ ! -e "/sys/dev/block/$disk/partition" ] || disk=$(cat "/sys/dev/block/$disk/../dev")
    [ -e "/sys/dev/block/$disk" ] || fail "$1" "the directory is on no disk"
}
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    own=$(find_own "") above=/sys/fs/cgroup
    above=$above${own%/*}
    for kind in cpu memory io; do { echo "+$kind" > "$above/cgroup.subtree_control"; } 2> /dev/null; done
    make "it" "$above"
    [ -z "$quota" ] || put cpu_quota "$group/cpu.max" "$quota PERIOD"
    [ -z "$memory" ] || put memory "$group/memory.max" "$memory"
    [ -z "$memory" ] || { echo 0 > "$group/memory.swap.max"; } 2> /dev/null || : # where there is swap
    [ -z "$reads" ] || { find_disk io_read; put io_read "$group/io.max" "$disk rbps=$reads"; }
    [ -z "$writes" ] || { find_disk io_write; put io_write "$group/io.max" "$disk wbps=$writes"; }
    put it "$group/cgroup.procs" $$
else
    [ -z "$writes" ] || fail io_write "groups of version 1 hold direct writes only"
    enter() {
        own=$(find_own "$2")
        make "$1" "/sys/fs/cgroup/$2${own%/}"
        put "$1" "$group/$3" "$4"
        put "$1" "$group/cgroup.procs" $$
    }
    [ -z "$quota" ] || enter cpu_quota cpu cpu.cfs_quota_us "$quota"
    [ -z "$memory" ] || enter memory memory memory.limit_in_bytes "$memory"
    [ -z "$reads" ] || find_disk io_read
    [ -z "$reads" ] || enter io_read blkio blkio.throttle.read_bps_device "$disk $reads"
fi
[ -z "$told" ] || report >> "$told" 2> /dev/null
exec "$@"
""".replace("PERIOD", str(PERIOD))


@dataclass(frozen=True, slots=True)
class Limits:
    """`cpu_quota` in CPUs (0.2 is a fifth of one), `memory` in bytes, the others in bytes per second."""

    cpu_quota: Share | None = None
    memory: Size | None = None
    io_read: Rate | None = None
    io_write: Rate | None = None

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> Self:
        """From the keys of `wrap`. Raises UsageError that names the key."""
        return cls(
            _parse(Share, "cpu_quota", settings),
            _parse(Size, "memory", settings),
            _parse(Rate, "io_read", settings),
            _parse(Rate, "io_write", settings),
        )

    @property
    def any(self) -> bool:
        """Whether there is one at all."""
        return any(getattr(self, field.name) is not None for field in fields(self))

    @property
    def quota(self) -> int | None:
        """Microseconds of all CPUs together in each period."""
        return None if self.cpu_quota is None else max(1000, round(self.cpu_quota * PERIOD))

    def enter(self, command: Command, told: str) -> Command:
        """The command that starts one within a group of its own; to `told` goes what the kernel says."""
        asked = (self.quota, self.memory, self.io_read, self.io_write)
        words = ("" if value is None else str(int(value)) for value in asked)
        return command.wrap("sh", "-c", REPORT + _ENTER, "sh", *words, told)

    def describe(self) -> dict[str, str | None]:
        """Each by its key, as a file would say it."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: None if value is None else str(value) for name, value in values.items()}


def read_limits(text: str) -> Limits:
    """What `REPORT` printed; without what is not limited."""
    quota = re.search(r"^Limit quota (\d+) (\d+)$", text, re.MULTILINE)
    memory = re.search(r"^Limit memory (\d+)$", text, re.MULTILINE)
    rates = dict(re.findall(r"\b([rw]bps)=(\d+)", "\n".join(re.findall(r"^Limit io .*", text, re.MULTILINE))))
    return Limits(
        Share(int(quota[1]) / int(quota[2])) if quota and int(quota[2]) else None,
        Size(memory[1]) if memory else None,
        Rate(rates["rbps"]) if "rbps" in rates else None,
        Rate(rates["wbps"]) if "wbps" in rates else None,
    )


class ControlGroups:
    """What is left of groups when their processes are gone: empty ones."""

    def list_left(self) -> Command:
        """What prints the token of each."""
        script = "find /sys/fs/cgroup -type d -name 'steelyard:*' | sed -n \"$0\""
        return Command(("sh", "-c", script, "s|.*/steelyard:\\(.*\\):[0-9]*$|\\1|p"))

    def remove_left(self, token: str) -> Command:
        """What removes those of a run."""
        removing = ("-depth", "-type", "d", "-name", f"steelyard:{token}:*", "-exec", "rmdir", "{}", "+")
        return Command(("find", "/sys/fs/cgroup", *removing))


def _parse(kind: type[Any], key: str, settings: Mapping[str, Any]) -> Any:
    value = settings.get(key)
    if value is None:
        return None
    try:
        amount = kind.parse(value)
    except UnitError as error:
        raise UsageError(f"{key}: {error}") from error
    if isinstance(value, int | float) and kind is Share:
        raise UsageError(f"{key}: {value} needs a percent sign: 50% is half of one CPU")
    least = {Share: 0.01, Size: 1 << 20, Rate: 1024.0}[kind]
    if amount < least:
        raise UsageError(f"{key}: {value} is less than {kind(least)}")
    if kind is Share:
        return Share(round(amount * PERIOD) / PERIOD)  # as the kernel counts, as below
    return Size(amount - amount % _PAGE) if kind is Size else Rate(int(amount))
