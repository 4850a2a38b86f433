"""What NFS-Ganesha reads, and how it is started. Pure.

Source: ganesha-core-config(8), ganesha-export-config(8) and ganesha-vfs-config(8) of NFS-Ganesha 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

EXPORT = "/files"
"""What clients mount."""

# The server sees a `/run` of its own, and so a portmapper of its own: without one it offers no NFSv3, which
# the programs of libnfs need. It is told that there is no network, and so has but a socket in there.
# Words: directory of the files below.
RUN = """
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir /run/ganesha
trap 'exit 0' TERM
unshare --mount --net sh -euc 'mount --bind "$1" /etc/netconfig; exec rpcbind -w -f' sh "$1/netconfig" &
until [ -S /run/rpcbind.sock ]; do kill -0 $! && sleep 0.05; done
ganesha.nfsd -F -f "$1/ganesha.conf" -L STDOUT -p /run/ganesha.pid -N NIV_EVENT &
wait $!
"""
GANESHA, NETCONFIG = "ganesha.conf", "netconfig"
NO_NETWORK = "local tpi_cots_ord v loopback - - -\n"
"""Of netconfig(5): sockets of the host alone."""
ISOLATE = (
    *("unshare", "--mount", "--propagation", "private"),
    *("--pid", "--fork", "--mount-proc", "--kill-child=KILL"),
)


def server_config(
    address: str, ports: tuple[int, int], files: PurePosixPath, state: PurePosixPath, clients: Iterable[str]
) -> str:
    """Of a server whose `ports` are NFS's and that of the mount protocol of NFSv3.

    It believes user ids that root of a client's host sends (a privileged port), and nobody else.
    """
    nfs, mount = ports
    return f"""NFS_CORE_PARAM {{
    Protocols = 3, 4;
    Bind_addr = {address};
    NFS_Port = {nfs};
    MNT_Port = {mount};
    Enable_NLM = false;
    Enable_RQUOTA = false;
    mount_path_pseudo = true;
}}
NFS_KRB5 {{ Active_krb5 = false; }}
NFSv4 {{
    Graceless = true;
    Only_Numeric_Owners = true;
    RecoveryBackend = fs;
    RecoveryRoot = "{state}";
}}
EXPORT_DEFAULTS {{ Access_Type = None; SecType = sys; Transports = TCP; Protocols = 3, 4; }}
EXPORT {{
    Export_Id = 1;
    Path = "{files}";
    Pseudo = {EXPORT};
    Squash = No_Root_Squash;
    PrivilegedPort = true;
    FSAL {{ Name = VFS; }}
    CLIENT {{ Clients = {", ".join(clients)}; Access_Type = RW; Protocols = 3, 4; }}
}}
"""
