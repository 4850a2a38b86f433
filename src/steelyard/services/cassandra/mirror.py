"""A second data centre of a ring of Cassandra, whose data lie where they outlive the ring.

Its nodes are the last hosts of the ring. Clients use the others, and a write counts there (LOCAL_QUORUM); the
mirror hears of it at the same time, and nobody waits for it. So before the ring goes it is proven that the
mirror has everything: when no node has anything left to hand on, all copies are compared by a repair that
changes nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from steelyard.plugin import HostError
from steelyard.plugin.host import Host
from steelyard.services.cassandra.options import MirrorOptions
from steelyard.services.cassandra.schema import format_replication
from steelyard.services.kit.cql_ring import Tokens, even_tokens, separate_tokens

# The mark `in-use` is there from a node's start until it ended in good order. What a former ring left is set
# aside, never removed; one that did not end in good order may still live, elsewhere.
PREPARE = """
[ -z "$ACCOUNT" ] && umask 077 || umask 066
place=$PLACE; mkdir -p "$(dirname "$place")"; umask 077
fail() { echo "$place $1" >&2; exit 1; }
if [ -L "$place" ] || { [ -e "$place" ] && ! { [ -d "$place" ] && [ -O "$place" ]; }; }; then
    fail "is not a directory that you own"
elif [ -e "$place/in-use" ]; then
    fail "belongs to a running or aborted ring; move it, or choose another directory"
elif [ -e "$place/mirror.json" ] && [ -e "$place/data" ]; then
    aside=$place.$(date -u -r "$place/mirror.json" +%Y%m%d-%H%M%S)
    [ ! -e "$aside" ] || fail "cannot be renamed: $aside already exists"
    mv "$place" "$aside"
elif [ -e "$place" ] && [ ! -e "$place/mirror.json" ] && [ -n "$(ls -A "$place")" ]; then
    fail "contains files that are not from a mirror; choose another directory"
fi
mkdir -p "$place"; chmod 700 "$place"
printf '%s' "$FACTS" > "$place/mirror.json"
"""
BEGIN = """
set -C; umask 077; : > "$PLACE/in-use"; mkdir "$PLACE/data"
[ -z "$ACCOUNT" ] || {
    chmod 711 "$PLACE"; chown "$ACCOUNT:$ACCOUNT" "$PLACE/data"
    setpriv --reuid="$ACCOUNT" --regid="$ACCOUNT" --clear-groups test -w "$PLACE/data" || {
        echo "the node's user $ACCOUNT cannot access $PLACE; choose a directory that others can access" >&2
        rm -rf "$PLACE/data" "$PLACE/in-use"
        exit 1
    }
}
"""
# What is left is ours: the node's user id is nobody's from now on.
END = """
[ -z "$ACCOUNT" ] || { chmod 700 "$PLACE"; chown -hR 0:0 "$PLACE/data"; }
rm -f "$PLACE/in-use"
"""
NOTE = 'umask 077; printf "%s" "$FACTS" > "$PLACE/proof.new"; mv "$PLACE/proof.new" "$PLACE/proof.json"'
_SHOWN = 1500  # characters of what differs that go into a message


@dataclass(frozen=True)
class Mirror:
    """A mirror of a ring, on these hosts."""

    options: MirrorOptions
    hosts: tuple[Host, ...]

    @property
    def copies(self) -> Mapping[str, int]:
        """Copies of each row, by its data centre."""
        return {self.options.datacenter: self.options.replication}

    def host_directory(self, host: Host) -> PurePosixPath:
        """What a host keeps of it."""
        return PurePosixPath(self.options.directory) / host.name

    def tokens(self, taken: Sequence[Tokens], each: int) -> dict[str, Tokens]:
        """Of its nodes: even ones, beside those of the others."""
        used = [token for own in taken for token in own]
        even = even_tokens(len(self.hosts), each)
        return {host.name: separate_tokens(own, used) for host, own in zip(self.hosts, even, strict=True)}

    def role_replication(self, datacenter: str, nodes: int) -> str:
        """How roles are kept: by every node of both data centres."""
        return format_replication({datacenter: nodes, self.options.datacenter: len(self.hosts)})

    def arguments(self, datacenter: str, nodes: int) -> tuple[str, ...]:
        """What the program that sees to it is told: see Java's `Centres`."""
        addresses = (host.address for host in self.hosts)
        copies = f"{self.options.datacenter}={self.options.replication}"
        return (f"{datacenter}={nodes}", copies, *addresses)

    def facts(self) -> dict[str, str]:
        """For the endpoint, and so for the record: where the data stay."""
        return {
            "mirror": ",".join(f"{host.name}:{self.host_directory(host)}" for host in self.hosts),
            "mirror_datacenter": self.options.datacenter,
        }


def split_hosts(
    hosts: tuple[Host, ...], options: MirrorOptions | None, name: str
) -> tuple[list[Host], Mirror | None]:
    """The hosts that clients use, and the mirror. Raises HostError where none would be left."""
    if options is None:
        return list(hosts), None
    if options.nodes >= len(hosts):
        raise HostError(
            f"service {name}: the mirror takes {options.nodes} of {len(hosts)} hosts and leaves none to use",
            hint="name more hosts in `on`; the last ones become the mirror",
        )
    return list(hosts[: -options.nodes]), Mirror(options, hosts[-options.nodes :])


def check_proof(name: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """What a proof found, as facts. Raises HostError that names the keyspaces that differ, and how."""
    differ = {keyspace: said for keyspace, said in found["differences"].items() if said}
    if differ:
        said = "; ".join(f"keyspace {keyspace}: {text[:_SHOWN]}" for keyspace, text in differ.items())
        raise HostError(
            f"service {name}: the mirror is incomplete: {said}",
            hint="a crashed node may have lost its last writes; `repair: true` in `mirror` restores them",
        )
    return {
        "in_sync": True,
        "keyspaces": sorted(found["differences"]),
        "extended": list(found["extended"]),
        "repaired": list(found["mended"]),
        "backlog": found["backlog"],
        "waited": found["seconds"]["wait"],
        "seconds": found["seconds"],
    }


def format_facts(facts: Mapping[str, Any]) -> str:
    """A file beside the data, with the time."""
    return json.dumps({"written": time.time(), **facts}, indent=1) + "\n"
