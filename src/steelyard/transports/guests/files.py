"""This machine's files for guests that cannot see them by themselves: an NFS server, for one run.

NFS 3 keeps nothing of its clients: a guest that was saved, and goes on later, finds its files as if nothing
had been. The server (NFS-Ganesha) serves no directory on which something is mounted, so it is shown each file
system by itself, without what is mounted there, and a guest mounts one upon the other.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from pathlib import Path
from typing import NamedTuple

from steelyard.errors import HostError
from steelyard.hosts.lease import Lease
from steelyard.transports.namespaces.holders import start_holder

_SERVER = 253  # its place in the network of the controller
_WITH_HANDLES = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs"})
_NOT_SHARED = re.compile("/(dev|proc|run|sys)(/|$)")  # a guest has its own

# Words: an empty directory, the server's address with the length of its prefix, its card. `SY_SHARES` has a
# line for each file system: a number and where it is mounted. Those come first: of several mounts of one file
# system the server takes the first. It has a `/run` of its own, and so a portmapper of its own, which knows
# no network: without one it offers no NFS 3.
_SERVE = """
set -e
ip addr replace "$2" dev "$3"
mount -t tmpfs -o mode=755 tmpfs "$1"
cd "$1"
mkdir shares run run/ganesha dev proc tmp
while read -r number path; do
    mkdir "shares/$number"
    mount --bind "$path" "shares/$number"
done <<SHARES
$SY_SHARES
SHARES
for place in usr bin sbin lib lib32 lib64 libx32 etc var; do
    if [ -L "/$place" ]; then cp -P "/$place" "$place"
    elif [ -d "/$place" ]; then
        mkdir "$place"
        mount --bind "/$place" "$place"
    fi
done
mount --rbind /dev dev
mount -t proc proc proc
printf %s "$SY_CONFIG" > run/ganesha.conf
echo "local tpi_cots_ord v loopback - - -" > run/netconfig
unset SY_CONFIG SY_SHARES
chroot . unshare --mount --net sh -ec 'mount --bind /run/netconfig /etc/netconfig; exec rpcbind -w -f' &
until [ -S run/rpcbind.sock ]; do
    kill -0 $!
    sleep 0.05
done
chroot . ganesha.nfsd -F -f /run/ganesha.conf -L /run/log -p /run/ganesha.pid -N NIV_EVENT &
until grep -qs ":0801 [0-9A-F:]* 0A " proc/net/tcp proc/net/tcp6; do  # until something listens on port 2049
    kill -0 $! 2> run/gone || { grep -v EVENT run/log | tail -n 3; exit 1; }
    sleep 0.05
done
echo ready
exec > run/said 2>&1
wait $!
"""
_CONFIG = """\
NFS_CORE_PARAM {{
    Protocols = 3;
    Bind_addr = {address};
    NFS_Port = 2049;
    MNT_Port = 2050;
    Enable_NLM = false;
    Enable_RQUOTA = false;
    mount_path_pseudo = true;
}}
NFS_KRB5 {{ Active_krb5 = false; }}
NFSv4 {{ Graceless = true; RecoveryBackend = fs; RecoveryRoot = "/run"; }}
EXPORT_DEFAULTS {{
    Access_Type = None;
    SecType = sys;
    Transports = TCP;
    Protocols = 3;
    Attr_Expiration_Time = 0;  # files change here, too
}}
"""
_SHARE = """\
EXPORT {{
    Export_Id = {number};
    Path = "/shares/{number}";
    Pseudo = /{number};
    Squash = No_Root_Squash;
    PrivilegedPort = true;
    FSAL {{ Name = VFS; }}
    CLIENT {{ Clients = {clients}; Access_Type = RW; Protocols = 3; }}
}}
"""


class SharedFiles(NamedTuple):
    """Where the server is, and what it has: a line for each file system, its number and its path."""

    address: str
    shares: str


async def share_files(
    lease: Lease, hub: int, network: IPv4Network, card: str, directory: Path
) -> SharedFiles:
    """Serve all files to a network of the hub, until the lease ends.

    `directory` is empty, and `card` the bridge of the network. Raises HostError with what the server says.
    """
    address = str(network[_SERVER])
    shares = list_shares(Path("/proc/self/mountinfo").read_text("utf-8"))
    texts = [_SHARE.format(number=number, clients=network) for number, _ in enumerate(shares, 1)]
    lines = "\n".join(f"{number} {path}" for number, path in enumerate(shares, 1))
    variables = {"SY_SHARES": lines, "SY_CONFIG": "".join((_CONFIG.format(address=address), *texts))}
    kinds = ("--mount", "--pid", "--fork", "--mount-proc", "--kill-child=KILL")
    words = (str(directory), f"{address}/{network.prefixlen}", card)
    try:
        await start_holder(lease, kinds, _SERVE, words, variables, network_of=hub)
    except HostError as error:
        said = f"this machine's files cannot be served to guests of QEMU: {error.message}"
        hint = "the root must be a file system with file handles, such as ext4 or XFS; else use `kind: uml`"
        raise HostError(said, hint=hint) from error
    return SharedFiles(address, lines)


def list_shares(mounts: str) -> list[str]:
    """Mount points of file systems that can be served, the root first; `mounts` is mountinfo, see proc(5)."""
    paths: dict[str, str] = {}
    for line in mounts.splitlines():
        words, _, kind = (part.split() for part in line.partition(" - "))
        device, inside, path = words[2:5]
        is_whole = inside == "/" and kind[0] in _WITH_HANDLES
        if path == "/" or (is_whole and "\\" not in path and not _NOT_SHARED.match(path)):
            paths.setdefault(device, path)
    return sorted(paths.values())
