"""A guest of User-mode Linux: it has this machine's files, a disk, two network cards, and an sshd."""

from __future__ import annotations

from pathlib import PurePosixPath

DISK = PurePosixPath("/run/steelyard/disk")
"""Where a guest has its disk mounted, as on this machine's files no account but root can make any.

New files are on the disk after a second, not half a minute: configuration that we wrote outlives a kill.
"""

# Words: name, its address with the length of the prefix, that in the network of the controller, both bridges,
# memory in bytes, what both hardware addresses end in, its disk and how many bytes that holds. It holds a
# mount namespace of its own, whose /run has what the guest must know, and is in the network namespace of the
# hub, where the guest's cards end; they go with the hub, and are there when a guest is booted again, cut off
# or not.
BOOT = """
set -e
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p -m 700 /run/steelyard/uml
cd /run/steelyard
printf %s "$SY_HOSTS" > hosts
printf %s "$SY_INIT" > init
chmod 700 init
mkfifo up
{ export -p; echo "set -- '$1' '$2' '$3'"; } > guest
for card in "$1:$4" "c$1:$5"; do
    [ -e "/proc/sys/net/ipv4/conf/${card%:*}" ] && continue
    ip tuntap add dev "${card%:*}" mode tap
    ip link set "${card%:*}" master "${card#*:}" up
done
[ -e "$8" ] || { truncate -s "$9" "$8.new"; mkfs.ext4 -q "$8.new"; mv "$8.new" "$8"; }
unset TMPDIR TMP TEMP
ulimit -c 0  # a panic ends in abort(3), whose core would be as large as the guest
linux.uml "mem=$6" root=/dev/root rootfstype=hostfs rootflags=/ rw quiet init=/run/steelyard/init \\
    ubd0="$8" con=null con0=null,fd:1 ssl=null ssl0=null,fd:3 uml_dir=/run/steelyard/uml/ umid=guest \\
    "vec0:transport=tap,ifname=$1,depth=128,gro=1,mac=02:00:$7" \\
    "vec1:transport=tap,ifname=c$1,depth=128,gro=1,mac=02:01:$7" \\
    3<> up >> "$SY_CONSOLE" 2>&1 < /dev/null &
read -r word < up || exit 1
echo ready
exec > /dev/null 2>&1
wait
"""

# The guest's first process. `SY_BECOME` are the lines that start an sshd; they end in an exec.
INIT = """#!/bin/sh
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
mount -t ext4 -o nodelalloc,commit=1 /dev/ubda /run/steelyard/disk
echo "$1" > /proc/sys/kernel/hostname
mount --bind /run/steelyard/hosts /etc/hosts
ip link set lo up
ip addr add "$2" dev vec0
ip link set vec0 up
ip addr add "$3" dev vec1
ip link set vec1 up
become=$SY_BECOME
set -- "$1" "$3"
unset SY_HOSTS SY_INIT SY_CONSOLE
( eval "$become" ) > /dev/null &
until grep -q ":0016 [0-9A-F:]* 0A " /proc/net/tcp; do  # until something listens on port 22
    kill -0 $! || break
    sleep 0.1
done
echo ready > /dev/ttyS0
wait
echo o > /proc/sysrq-trigger
"""
