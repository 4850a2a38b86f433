"""What GlusterFS reads, and the words of its commands. Pure.

Source: gluster(8), glusterd(8) and https://docs.gluster.org, "Setting Up Volumes", "Managing Volumes".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from steelyard.services.glusterfs.options import GlusterfsOptions

VOLUME = "files"
PORT = 24007
"""Of the daemon that manages: its peers look for it there and nowhere else."""

# Everything that GlusterFS has outside its configuration lies in the scratch, or in memory, and only its own
# processes see it there. They are in a namespace of processes, too: with the first of them, all are gone.
# Words: directory of the service.
RUN = """
cd "$1"
mount --bind state /var/lib/glusterd
mount --bind log /var/log/glusterfs
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir /run/gluster
trap 'exit 0' TERM
glusterd --no-daemon --volfile "$1/conf/glusterd.vol" --log-file /dev/stderr --pid-file /run/glusterd.pid &
wait $!
"""
ISOLATE = (
    *("unshare", "--mount", "--propagation", "private"),
    *("--pid", "--fork", "--mount-proc", "--kill-child=KILL"),
)


def management_volume(address: str) -> str:
    """The daemon's own configuration. Its bricks listen at the same address."""
    options = {
        "working-directory": "/var/lib/glusterd",
        "transport-type": "socket",
        "transport.address-family": "inet6" if ":" in address else "inet",
        "transport.socket.bind-address": address,
        "transport.socket.keepalive-time": 10,
        "transport.socket.keepalive-interval": 2,
        "ping-timeout": 0,
        "event-threads": 1,
    }
    lines = "".join(f"    option {name} {value}\n" for name, value in options.items())
    return f"volume management\n    type mgmt/glusterd\n{lines}end-volume\n"


def list_bricks(places: Sequence[tuple[str, str]], count: int) -> list[str]:
    """So many bricks on each of the hosts, which are an address and a directory each.

    Bricks that follow each other make a set, so hosts take turns: copies are on different ones.
    """
    return [f"{address}:{folder}/brick-{at}" for at in range(count) for address, folder in places]


def create_words(options: GlusterfsOptions, bricks: Iterable[str]) -> tuple[str, ...]:
    """A new volume. `force`: bricks may lie on the file system of the host's root."""
    if options.data:
        kind: tuple[str, ...] = (
            *("disperse-data", str(options.data)),
            *("redundancy", str(options.redundancy)),
        )
    else:
        kind = ("replica", str(options.replicas)) if options.replicas > 1 else ()
    return ("volume", "create", VOLUME, *kind, *bricks, "force")


def list_settings(options: GlusterfsOptions, clients: Iterable[str]) -> Mapping[str, str]:
    """Settings of the volume; only these addresses may be clients."""
    shard = (
        {"features.shard": "on", "features.shard-block-size": f"{int(options.shard)}B"}
        if options.shard
        else {}
    )
    return {
        "auth.allow": ",".join(clients),
        "network.ping-timeout": str(int(options.ping_timeout)),
        **shard,
    }
