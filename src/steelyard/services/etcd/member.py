"""The words of etcd's command line, and how a member's data come to be before it starts. Pure.

A new cluster has no password, and etcd enables authentication only in a cluster that runs. So the database of
a cluster that has one is made first: by a lone member that listens on sockets in its own directory, where no
other user comes. All members then begin with a copy of it, and none ever answers without the password.

Source: https://etcd.io/docs/v3.4, "Configuration flags", "Transport security model", "Role-based access
control" and "Disaster recovery".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from steelyard.plugin.service import join_host_port
from steelyard.services.etcd.options import EtcdOptions
from steelyard.services.kit.certificates import AUTHORITY, IDENTITY

USER = "root"
"""Of the only account; etcd's authentication wants one of this name."""
CONF, PASSWORD, SEED = "conf", "password", "seed.base64"
"""What a member may not change lies in `conf`: the password, and the database with which members begin."""

_LONE = "unix://clients:0", "unix://peers:0"  # relative to where it runs: paths of sockets are short
_CHEAPEST = "4"  # bcrypt's cost: it defends what people choose, and ours is random
# In the directory of the data, as the server's user. `user add` reads the password, which so is in no argv.
MAKE_SEED = f"""
export ETCDCTL_API=3 ETCDCTL_ENDPOINTS={_LONE[0]} ETCDCTL_COMMAND_TIMEOUT=30s; mkdir "$1/seed"; cd "$1/seed"
etcd --name seed --data-dir member --bcrypt-cost {_CHEAPEST} --initial-cluster seed={_LONE[1]} \\
    --listen-client-urls {_LONE[0]} --advertise-client-urls {_LONE[0]} \\
    --listen-peer-urls {_LONE[1]} --initial-advertise-peer-urls {_LONE[1]} >log 2>&1 &
lone=$!
trap 'kill $lone 2>/dev/null; wait $lone || :' EXIT
until etcdctl endpoint status >/dev/null 2>&1; do
    kill -0 $lone 2>/dev/null || {{ tail -n 5 log >&2; exit 1; }}
    sleep 0.05
done
etcdctl user add {USER} --interactive=false <"$2"
etcdctl user grant-role {USER} root
etcdctl auth enable
ETCDCTL_USER="{USER}:$(cat "$2")" etcdctl snapshot save ../seed.db
"""
# etcd 3.6 has this in a program of its own.
PLANT_SEED = """
export ETCDCTL_API=3; data=$1 seed=$2; shift 2; cd "$data"
[ -e seed.db ] || base64 -d "$seed" >seed.db
"$(command -v etcdutl || command -v etcdctl)" snapshot restore seed.db --data-dir member "$@"
rm -rf seed seed.db
"""
CLIENT = f'ETCDCTL_API=3 ETCDCTL_USER="{USER}:$(cat {CONF}/{PASSWORD})" etcdctl --cacert {CONF}/{AUTHORITY}'
"""The client's words in the scratch, before those that say whom it asks what."""

# Members agree to a change only while they have a leader and have seen each other for some seconds. One that
# was cut short may have been made: the next try says so in the first of the words.
_AGREE = """
agree() {
    done=$1 end=$(($(date +%s) + WITHIN)); shift
    until said=$(client "$@" 2>&1); do
        case $said in *"$done"*) return 0 ;; esac
        [ "$(date +%s)" -lt $end ] || { echo "$said" >&2; exit 1; }
        sleep 0.2
    done
}
"""
ADD = f'{_AGREE}agree "Peer URLs already exists" member add "$NAME" --peer-urls "$PEER"\n'
REMOVE = f"""{_AGREE}
agree "nothing" member list
id=$(echo "$said" | while IFS=, read -r id _ _ url _; do [ "$url" != " $PEER" ] || echo "$id"; done)
[ -z "$id" ] || agree "member not found" member remove "$id"
"""
"""For a `client`: take in a member that is about to start, and remove one, which may never have started."""


@dataclass(frozen=True, slots=True)
class EtcdMember:
    """A member of a cluster, by its name there."""

    name: str
    address: str
    ports: tuple[int, int]

    @property
    def client_url(self) -> str:
        """Where clients find it."""
        return f"https://{join_host_port(self.address, self.ports[0])}"

    @property
    def peer_url(self) -> str:
        """Where the other members find it."""
        return f"https://{join_host_port(self.address, self.ports[1])}"


def cluster_words(member: EtcdMember, members: Sequence[EtcdMember], token: str) -> tuple[str, ...]:
    """Who belongs to a new cluster; two with different tokens never take each other for one."""
    listed = ",".join(f"{one.name}={one.peer_url}" for one in members)
    cluster = ("--initial-cluster", listed, "--initial-cluster-token", token)
    return ("--name", member.name, *cluster, "--initial-advertise-peer-urls", member.peer_url)


def server_words(
    member: EtcdMember, conf: PurePosixPath, data: PurePosixPath, options: EtcdOptions
) -> tuple[str, ...]:
    """How it runs: with its files in `conf`, and TLS for everybody."""
    identity, authority = str(conf / IDENTITY), str(conf / AUTHORITY)
    times = (
        f"--heartbeat-interval={round(options.heartbeat * 1000)}",
        f"--election-timeout={round(options.election_timeout * 1000)}",
    )
    # A member may come from another address of its host than that at which it listens; on loopback all come
    # from 127.0.0.1. That the authority of this deployment signed it is what counts.
    anywhere = "--experimental-peer-skip-client-san-verification"
    revisions = options.keep_revisions
    kept = (
        ("--auto-compaction-mode=revision", f"--auto-compaction-retention={revisions}") if revisions else ()
    )
    return (
        *("etcd", "--data-dir", str(data / "member"), "--logger", "zap"),
        *("--listen-client-urls", member.client_url, "--advertise-client-urls", member.client_url),
        *("--listen-peer-urls", member.peer_url),
        *("--cert-file", identity, "--key-file", identity),
        *("--peer-cert-file", identity, "--peer-key-file", identity),
        *("--peer-client-cert-auth", "--peer-trusted-ca-file", authority, anywhere),
        *("--quota-backend-bytes", str(int(options.quota)), *times, *kept),
        *(() if options.fsync else ("--unsafe-no-fsync",)),
    )
