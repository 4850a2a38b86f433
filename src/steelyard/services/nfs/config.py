"""What NFS-Ganesha reads, and how it is started. Pure.

Source: ganesha-core-config(8), ganesha-export-config(8) and ganesha-vfs-config(8) of NFS-Ganesha 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

EXPORT = "/files"
"""What clients mount."""

# The server sees a `/run` of its own, and so a portmapper of its own: without one it offers no NFSv3, which
# the programs of libnfs need. That has a network of its own without any address, so nobody else reaches it.
# Words: the configuration.
RUN = """
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir /run/ganesha
trap 'exit 0' TERM
unshare --net rpcbind -w -f &
until [ -S /run/rpcbind.sock ]; do kill -0 $! && sleep 0.05; done
ganesha.nfsd -F -f "$1" -L STDOUT -p /run/ganesha.pid -N NIV_EVENT &
wait $!
"""
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
