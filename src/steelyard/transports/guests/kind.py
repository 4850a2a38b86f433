"""What is alike in all kinds of guests: how one is started, and what it does first. Pure.

A kind is a file beside this one. It says how its program is called, and how the devices are named inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network
from pathlib import Path, PurePosixPath
from typing import NamedTuple

DISK = PurePosixPath("/run/steelyard/disk")
"""Where a guest has its disk mounted, as on this machine's files no account but root can make any.

New files are on the disk after a second, not half a minute: configuration that we wrote outlives a kill.
"""

# Words: name, its address with the length of the prefix, that in the network of the controller, both bridges,
# memory in bytes, what both hardware addresses end in, how many bytes its disk holds, the file of that, and
# the file of the state that it goes on from, or nothing. The script holds a mount namespace of its own, whose
# /run has what the guest must know, and is in the network namespace of the hub, where the guest's cards end;
# they go with the hub, and are there when a guest is booted again, cut off or not. The lines of the kind
# begin the guest in the background by `boot`; it writes a line to `up`, where its descriptor 3 leads, when
# its sshd may be asked. Both ends are open before it begins, and only the guest keeps the one that is written
# to: so its end is seen however soon it comes, while to open a pipe that it has left already would wait for
# ever.
_BEGIN = """
set -e
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/steelyard
cd /run/steelyard
printf %s "$SY_HOSTS" > hosts
printf %s "$SY_INIT" > init
chmod 700 init
mkfifo up
exec 8<> up 9< up
( umask 077; { export -p; echo "set -- '$1' '$2' '$3'"; } > guest )  # it has keys
for card in "$1:$4" "c$1:$5"; do
    [ -e "/proc/sys/net/ipv4/conf/${card%:*}" ] && continue
    ip tuntap add dev "${card%:*}" mode tap
    ip link set "${card%:*}" master "${card#*:}" up
done
[ -e "$9" ] || { truncate -s "$8" "$9.new"; mkfs.ext4 -q "$9.new"; mv "$9.new" "$9"; }
unset TMPDIR TMP TEMP
ulimit -c 0  # a panic ends in abort(3), whose core would be as large as the guest
boot() { exec "$@" 3<&8 8>&- 9<&- >> "$SY_CONSOLE" 2>&1 < /dev/null; }
"""
_END = """
exec 8>&-
[ "${10}" ] || read -r word <&9 || exit 1
echo ready
exec > /dev/null 2>&1
wait
"""

# The guest's first process, after the names of its devices. `SY_BECOME` are the lines that start an sshd;
# they end in an exec.
_INIT = """
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
mount -t proc none /proc
mount -t sysfs none /sys
mkdir /dev/shm /dev/pts
mount -t tmpfs -o mode=1777 none /dev/shm
mount -t devpts none /dev/pts
ln -s /proc/self/fd /dev/fd
for stream in 0:stdin 1:stdout 2:stderr; do ln -s "fd/${stream%:*}" "/dev/${stream#*:}"; done
. /run/steelyard/guest
mkdir /run/steelyard/disk
mount -t ext4 -o nodelalloc,commit=1 "$disk" /run/steelyard/disk
mkdir -p -m 1777 /run/steelyard/disk/tmp
echo "$1" > /proc/sys/kernel/hostname
mount --bind /run/steelyard/hosts /etc/hosts
ip link set lo up
ip addr replace "$2" dev "$card"
ip link set "$card" up
ip addr replace "$3" dev "$door"
ip link set "$door" up
become=$SY_BECOME
set -- "$1" "$3"
unset SY_HOSTS SY_INIT SY_CONSOLE
( eval "$become" ) > /dev/null &
until grep -q ":0016 [0-9A-F:]* 0A " /proc/net/tcp; do  # until something listens on port 22
    kill -0 $! || break
    sleep 0.1
done
echo ready > "$line"
wait
echo o > /proc/sysrq-trigger
"""


class Devices(NamedTuple):
    """How a guest calls its disk, its cards in both networks, and the line on which it says that it is up."""

    disk: str
    card: str
    door: str
    line: str


class GuestPlace(NamedTuple):
    """Where guests of a run get their files: over the bridge `card` of a network of the hub.

    `directory` is one of the run.
    """

    hub: int
    network: IPv4Network
    card: str
    directory: Path


class GuestKind(NamedTuple):
    """`name` is for people, `run` are the lines that begin a guest, and `variables` what they use."""

    name: str
    run: str
    devices: Devices
    variables: Mapping[str, str] = {}

    def boot_script(self) -> str:
        """What starts a guest of this kind; see above for its words."""
        return "".join((_BEGIN, self.run.strip(), _END))

    def init_script(self) -> str:
        """What a guest of this kind runs first."""
        names = (f"{name}={value}\n" for name, value in self.devices._asdict().items())
        return "".join(("#!/bin/sh\n", *names, _INIT.lstrip()))
