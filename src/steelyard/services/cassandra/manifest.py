"""What a ring asks of a snapshot's manifest, which may be a stranger's, beyond what all must be. Pure.

Its statements are run as a superuser and its files become tables, so neither may be about anything but the
keyspaces that it defines: files alone could bring roles. That no statement does more than to define is for
Cassandra's own grammar to say, in a node, before the first one is run; see `Statements.java`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence

from steelyard.plugin import HostError
from steelyard.plugin.service import REFUSED_HINT, Snapshot, SnapshotNode
from steelyard.services.cassandra.schema import parse_replications
from steelyard.services.kit.cql_ring import HIGHEST, LOWEST

_TABLE = re.compile(r"(\w{1,222})[./]\w{1,222}", re.ASCII)
_COMPONENT = re.compile(r"[a-z]{2}-\w+-[a-z]+-[\w+]+\.[a-z0-9]+", re.ASCII)  # nb-1-big-Data.db
_MOST = 5  # faults of one kind that are told
_SHOWN = 60  # characters of a statement


def examine(snapshot: Snapshot, service: str, version: str) -> None:
    """Raises HostError with all that a ring of this version of Cassandra cannot take of it."""
    where = f"service {service}: snapshot {snapshot.name}"
    if snapshot.service != "cassandra" or _parse_version(snapshot.version) > _parse_version(version):
        what = f"{where} is from {snapshot.service} {snapshot.version}, which Cassandra {version} cannot read"
        raise HostError(what)
    if faults := list(_find_faults(snapshot)):
        what = f"{where} was rejected, and nothing was recovered: {'; '.join(faults)}"
        raise HostError(what, hint=REFUSED_HINT)


def format_faults(definitions: Sequence[str], faults: Sequence[str]) -> str:
    """Which statements are refused, and why: `faults` has a reason for each, empty where it is sound."""
    wrong = [
        f"statement {number} of its manifest ({_quote_statement(text)}) {fault}"
        for number, (text, fault) in enumerate(zip(definitions, faults, strict=True), 1)
        if fault
    ]
    return "; ".join(_limit_faults(wrong))


def raise_for_faults(snapshot: Snapshot, definitions: Sequence[str], faults: Sequence[str]) -> None:
    """Raises HostError where Cassandra's grammar finds faults in statements of a manifest."""
    if any(faults):
        what = f"snapshot {snapshot.name}: {format_faults(definitions, faults)}; nothing was recovered"
        raise HostError(what, hint=REFUSED_HINT)


def _find_faults(snapshot: Snapshot) -> Iterator[str]:
    if snapshot.replication != parse_replications(snapshot.definitions):
        yield "its replication differs from that of the keyspaces it defines"
    keyspaces = snapshot.replication
    for kind in (_token_faults, _file_faults, _row_faults):
        faults = ((node.host, fault) for node in snapshot.nodes for fault in kind(node, keyspaces))
        yield from _limit_faults(f"node {host} {fault}" for host, fault in faults)


def _token_faults(node: SnapshotNode, _: Container[str]) -> Iterator[str]:
    if not node.tokens:
        yield "has no token"
    for token in node.tokens:
        if not LOWEST <= int(token) <= HIGHEST:
            yield f"has the token {token}, which is out of range"


def _file_faults(node: SnapshotNode, keyspaces: Container[str]) -> Iterator[str]:
    for file in node.files:
        if not _is_sstable(file.path, keyspaces):
            yield f"has the file {file.path}, which belongs to no table it defines"


def _row_faults(node: SnapshotNode, keyspaces: Container[str]) -> Iterator[str]:
    for table in node.rows:
        if not _is_table(table, keyspaces):
            yield f"counts rows of {table}, a table it does not define"


def _is_sstable(path: str, keyspaces: Container[str]) -> bool:
    table, _, component = path.rpartition("/")
    return _is_table(table, keyspaces) and _COMPONENT.fullmatch(component) is not None


def _is_table(name: str, keyspaces: Container[str]) -> bool:
    match = _TABLE.fullmatch(name)
    return match is not None and match[1] in keyspaces


def _limit_faults(faults: Iterable[str]) -> list[str]:
    every = list(faults)
    more = [f"and {len(every) - _MOST} more"] if len(every) > _MOST else []
    return every[:_MOST] + more


def _quote_statement(text: str) -> str:
    plain = "".join(letter if letter.isprintable() else " " for letter in text[: _SHOWN + 1])
    return repr(plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…")


def _parse_version(version: str) -> tuple[int, ...]:
    """Major and minor: files are the same within."""
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
