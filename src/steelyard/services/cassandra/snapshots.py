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
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from steelyard.plugin import HostError
from steelyard.plugin.host import Host
from steelyard.plugin.service import Runner, SavedFiles, Snapshot, SnapshotNode
from steelyard.services.cassandra.manifest import format_faults, raise_for_faults
from steelyard.services.cassandra.plan import RingPlan
from steelyard.services.cassandra.schema import adapt_definitions, drop_datacenter, parse_replications
from steelyard.services.cassandra.watch import RingWatch
from steelyard.services.kit.capabilities import Vaults
from steelyard.services.kit.cql_ring import find_sources
from steelyard.services.kit.data import DataDirectory, give, lend, take_back

_INDEX = re.compile(r"CREATE (?:CUSTOM )?INDEX (?:IF NOT EXISTS )?")


@dataclass(frozen=True)
class RingSnapshots:
    """Keeps and brings back the data of a ring; those of one data centre, which hold everything.

    `scratch` is that on each host, `runner` makes what runs commands on one.
    """

    plan: RingPlan
    watch: RingWatch
    scratch: Callable[[Host], PurePosixPath]
    runner: Callable[[Host, str, float], Runner]

    async def take(self, vaults: Vaults, name: str) -> Snapshot:
        """All nodes at one moment, their files in the vault."""
        began = time.time()
        hosts = self._hosts()
        lent = {host.address: self.scratch(host) / "kept" / name for host in hosts}
        await asyncio.gather(*(lend(*self._tools(host, "lend"), lent[host.address]) for host in hosts))
        places = {address: str(place) for address, place in lent.items()}
        frozen = await self.watch.freeze(name, places, self._seconds())
        copying = time.monotonic()
        parts = await asyncio.gather(*(self._copy_files(vaults, host, lent[host.address]) for host in hosts))
        seconds = {**frozen["seconds"], "copy": time.monotonic() - copying}
        return self._describe(name, began, frozen, dict(zip(hosts, parts, strict=True)), seconds)

    async def recover(self, vaults: Vaults, snapshot: Snapshot) -> Mapping[str, float]:
        """Have the data of a snapshot, and no others; seconds by step.

        Raises HostError; as long as files are missing or not what they were, or a statement does more than to
        define what holds them, nothing is changed.
        """
        began, hosts, plan = time.monotonic(), self._hosts(), self.plan
        own = self._has_same_tokens(snapshot)
        wanted = {host.address: self._select_nodes(host, snapshot, own=own) for host in hosts}
        await asyncio.gather(*(self._fetch_files(vaults, host, wanted[host.address]) for host in hosts))
        fetched = time.monotonic()
        datacenter, copies = plan.options.datacenter, plan.mirror_copies
        definitions = adapt_definitions(snapshot.definitions, datacenter, len(hosts), copies)
        places = {host.address: str(self._incoming(host)) for host in hosts}
        answer = await self.watch.recover(definitions, places, self._seconds(), own=own)
        raise_for_faults(snapshot, definitions, answer.get("faults", ()))
        for host in hosts:
            _check_rows(host, wanted[host.address], answer["rows"][host.address])
        return {"copy": fetched - began, **{step: float(took) for step, took in answer["seconds"].items()}}

    def _describe(
        self,
        name: str,
        began: float,
        frozen: Mapping[str, Any],
        parts: Mapping[Host, SavedFiles],
        seconds: Mapping[str, Any],
    ) -> Snapshot:
        definitions, left_out = _select_recoverable(name, frozen)
        for other in self.plan.mirror_copies:
            definitions = drop_datacenter(definitions, other)
        return Snapshot(
            name=name,
            service="cassandra",
            version=self.plan.version,
            taken=began,
            replication=parse_replications(definitions),
            definitions=definitions,
            nodes=tuple(
                SnapshotNode(
                    host=host.name,
                    tokens=self._tokens(host),
                    files=part.files,
                    rows=frozen["rows"][host.address],
                )
                for host, part in parts.items()
            ),
            steps={step: float(took) for step, took in seconds.items()},
            spread=float(frozen["spread"]),
            waiting=tuple(host.name for host in parts if host.address in frozen["waiting"]),
            copied=sum(part.copied for part in parts.values()),
            left_out=left_out,
        )

    async def _copy_files(self, vaults: Vaults, host: Host, place: PurePosixPath) -> SavedFiles:
        await take_back(*self._tools(host, "take-back"), place)
        stored_files = await vaults(host).keep(self._make_runner(host, "keep"), place)
        await host.remove_directory(place)
        return stored_files

    async def _fetch_files(self, vaults: Vaults, host: Host, nodes: Sequence[SnapshotNode]) -> None:
        """Files of several nodes may have the same names, so each node's have a directory of their own."""
        target = self._incoming(host)
        await host.remove_directory(target)
        await host.make_directory(target)
        files = [
            file.model_copy(update={"path": f"{number}/{file.path}"})
            for number, node in enumerate(nodes)
            for file in node.files
        ]
        await vaults(host).fetch(self._make_runner(host, "fetch"), files, target)
        await give(*self._tools(host, "give"), target)

    def _select_nodes(self, host: Host, snapshot: Snapshot, *, own: bool) -> list[SnapshotNode]:
        """The nodes of a snapshot whose files a host is to have."""
        if own:
            return [node for node in snapshot.nodes if node.tokens == self._tokens(host)]
        hosts = self._hosts()
        before = [tuple(map(int, node.tokens)) for node in snapshot.nodes]
        now = [self.plan.members.tokens[each.name] for each in hosts]
        copies = max(snapshot.replication.values(), default=1)
        return [snapshot.nodes[place] for place in find_sources(before, now, copies)[hosts.index(host)]]

    def _has_same_tokens(self, snapshot: Snapshot) -> bool:
        """Whether each node of the snapshot has its twin here: a node with the very same tokens."""
        return sorted(map(self._tokens, self._hosts())) == sorted(node.tokens for node in snapshot.nodes)

    def _hosts(self) -> tuple[Host, ...]:
        return tuple(self.plan.members.ring)

    def _tokens(self, host: Host) -> tuple[str, ...]:
        return tuple(str(token) for token in sorted(self.plan.members.tokens[host.name]))

    def _incoming(self, host: Host) -> PurePosixPath:
        return self.scratch(host) / "incoming"

    def _seconds(self) -> float:
        """For any step."""
        return self.plan.options.snapshot_within

    def _make_runner(self, host: Host, label: str) -> Runner:
        return self.runner(host, label, self._seconds())

    def _tools(self, host: Host, label: str) -> tuple[Runner, DataDirectory]:
        """What runs commands on a host, and whose what they make may become."""
        return self._make_runner(host, label), self.plan.data[host.name]


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
            f"{host.name}: the number of rows is not that of the snapshot: {'; '.join(wrong[:5])}",
            hint="recover the snapshot again; if the number is wrong again, deploy the service anew",
        )
