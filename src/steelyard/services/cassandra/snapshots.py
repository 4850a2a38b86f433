"""Keep the data of a ring of Cassandra as they are at one moment, and bring them back, also to another ring.

A ring whose nodes have the tokens of the snapshot takes the files as they are. Into any other ring, of more
or fewer nodes, each node is given the files of all that may hold what is now its own, and drops the rest.
Files are immutable, so they are compared by their SHA-256; the rows that their statistics count are compared
before and after.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from steelyard.plugin import HostError
from steelyard.plugin.host import Host
from steelyard.plugin.service import Runner, SavedFiles, Snapshot, SnapshotNode
from steelyard.services.cassandra.manifest import format_faults, raise_for_faults
from steelyard.services.cassandra.schema import adapt_definitions, drop_datacenter, parse_replications
from steelyard.services.cassandra.watch import RingWatch
from steelyard.services.kit.capabilities import Vaults
from steelyard.services.kit.cql_ring import Tokens, find_sources
from steelyard.services.kit.data import DataDirectory, give, lend, take_back

_INDEX = re.compile(r"CREATE (?:CUSTOM )?INDEX (?:IF NOT EXISTS )?")


@dataclass(frozen=True)
class RingData:
    """A ring as far as its data are concerned. `timeout`: seconds for any step. `scratch` is on each host.

    Its hosts are those of one data centre, which hold everything; `mirror_copies` are copies of each row in
    another.
    """

    hosts: Sequence[Host]
    tokens: Mapping[str, Tokens]
    datacenter: str
    version: str
    watch: RingWatch
    scratch: Callable[[Host], PurePosixPath]
    runner: Callable[[Host, str, float], Runner]
    timeout: float
    data: Mapping[str, DataDirectory]
    mirror_copies: Mapping[str, int] = field(default_factory=dict)

    def has_same_tokens(self, snapshot: Snapshot) -> bool:
        """Whether each node of the snapshot has its twin here: a node with the very same tokens."""
        ours = sorted(_format_tokens(self.tokens[host.name]) for host in self.hosts)
        return ours == sorted(node.tokens for node in snapshot.nodes)

    def make_runner(self, host: Host, label: str) -> Runner:
        """What runs commands on a host of it."""
        return self.runner(host, label, self.timeout)

    def runner_and_data(self, host: Host, label: str) -> tuple[Runner, DataDirectory]:
        """The same, and whose what it makes may become."""
        return self.make_runner(host, label), self.data[host.name]


async def take_snapshot(ring: RingData, vaults: Vaults, name: str) -> Snapshot:
    """A snapshot of a ring: all nodes at one moment, their files in the vault."""
    began = time.time()
    lent = {host.address: ring.scratch(host) / "kept" / name for host in ring.hosts}
    places = {address: str(place) for address, place in lent.items()}
    await asyncio.gather(
        *(lend(*ring.runner_and_data(host, "lend"), lent[host.address]) for host in ring.hosts)
    )
    frozen = await ring.watch.freeze(name, places, ring.timeout)
    copying = time.monotonic()
    parts = await asyncio.gather(
        *(_copy_files(ring, vaults, host, lent[host.address]) for host in ring.hosts)
    )
    steps = {step: float(seconds) for step, seconds in frozen["seconds"].items()}
    definitions, left_out = _select_recoverable(name, frozen)
    for other in ring.mirror_copies:
        definitions = drop_datacenter(definitions, other)
    return Snapshot(
        name=name,
        service="cassandra",
        version=ring.version,
        taken=began,
        replication=parse_replications(definitions),
        definitions=definitions,
        nodes=tuple(
            SnapshotNode(
                host=host.name,
                tokens=_format_tokens(ring.tokens[host.name]),
                files=part.files,
                rows=frozen["rows"][host.address],
            )
            for host, part in zip(ring.hosts, parts, strict=True)
        ),
        steps={**steps, "copy": time.monotonic() - copying},
        spread=float(frozen["spread"]),
        waiting=tuple(host.name for host in ring.hosts if host.address in frozen["waiting"]),
        copied=sum(part.copied for part in parts),
        left_out=left_out,
    )


async def recover_snapshot(ring: RingData, vaults: Vaults, snapshot: Snapshot) -> Mapping[str, float]:
    """A ring with the data of a snapshot, and no others; seconds by step.

    Raises HostError; as long as files are missing or not what they were, or a statement does more than to
    define what holds them, nothing is changed.
    """
    began = time.monotonic()
    own = ring.has_same_tokens(snapshot)
    wanted = {host.address: _select_nodes(ring, host, snapshot, own=own) for host in ring.hosts}
    places = {host.address: str(ring.scratch(host) / "incoming") for host in ring.hosts}
    fetches = (_fetch_files(ring, vaults, host, wanted[host.address]) for host in ring.hosts)
    await asyncio.gather(*fetches)
    fetched = time.monotonic()
    definitions = adapt_definitions(
        snapshot.definitions, ring.datacenter, len(ring.hosts), ring.mirror_copies
    )
    answer = await ring.watch.recover(definitions, places, ring.timeout, own=own)
    raise_for_faults(snapshot, definitions, answer.get("faults", ()))
    for host in ring.hosts:
        _check_rows(host, wanted[host.address], answer["rows"][host.address])
    return {"copy": fetched - began, **{step: float(took) for step, took in answer["seconds"].items()}}


def _select_recoverable(name: str, found: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The definitions, all of which another ring would take, and names of what is left out of them.

    An index can be done without. Raises HostError that names a table or type that no ring would take.
    """
    definitions, faults = found["definitions"], found["faults"]
    indexes = [text for text, fault in zip(definitions, faults, strict=True) if fault and _INDEX.match(text)]
    wrong = ["" if text in indexes else fault for text, fault in zip(definitions, faults, strict=True)]
    if any(wrong):
        what = (
            f"snapshot {name} was not taken because no ring could recover it: "
            f"{format_faults(definitions, wrong)}"
        )
        raise HostError(what, hint="remove what is named from these tables, then take the snapshot again")
    names = [*found["left_out"], *(f"index {_INDEX.sub('', text).split(' (')[0]}" for text in indexes)]
    plain = ("".join(sign if sign.isprintable() else "?" for sign in each)[:256] for each in names)
    return tuple(text for text in definitions if text not in indexes), tuple(plain)


async def _copy_files(ring: RingData, vaults: Vaults, host: Host, place: PurePosixPath) -> SavedFiles:
    await take_back(*ring.runner_and_data(host, "take-back"), place)
    stored_files = await vaults(host).keep(ring.make_runner(host, "keep"), place)
    await host.remove_directory(place)
    return stored_files


def _select_nodes(ring: RingData, host: Host, snapshot: Snapshot, *, own: bool) -> list[SnapshotNode]:
    """The nodes of a snapshot whose files a host is to have."""
    if own:
        return [node for node in snapshot.nodes if node.tokens == _format_tokens(ring.tokens[host.name])]
    before = [tuple(map(int, node.tokens)) for node in snapshot.nodes]
    now = [ring.tokens[each.name] for each in ring.hosts]
    copies = max(snapshot.replication.values(), default=1)
    needed = find_sources(before, now, copies)[ring.hosts.index(host)]
    return [snapshot.nodes[place] for place in needed]


async def _fetch_files(ring: RingData, vaults: Vaults, host: Host, nodes: Sequence[SnapshotNode]) -> None:
    """Files of several nodes may have the same names, so each node's have a directory of their own."""
    target = ring.scratch(host) / "incoming"
    await host.remove_directory(target)
    await host.make_directory(target)
    files = [
        file.model_copy(update={"path": f"{number}/{file.path}"})
        for number, node in enumerate(nodes)
        for file in node.files
    ]
    await vaults(host).fetch(ring.make_runner(host, "fetch"), files, target)
    await give(*ring.runner_and_data(host, "give"), target)


def _check_rows(host: Host, nodes: Sequence[SnapshotNode], found: Mapping[str, int]) -> None:
    expected = Counter[str]()
    for node in nodes:
        expected.update(node.rows)
    wrong = [
        f"{table} has {found.get(table, 0)}, expected {rows}"
        for table, rows in sorted(expected.items())
        if found.get(table, 0) != rows
    ]
    if wrong:
        raise HostError(
            f"{host.name}: the fetched files contain an unexpected number of rows: {'; '.join(wrong[:5])}"
        )


def _format_tokens(tokens: Tokens) -> tuple[str, ...]:
    return tuple(str(token) for token in sorted(tokens))
