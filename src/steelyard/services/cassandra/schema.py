"""Definitions of keyspaces, as `DESCRIBE SCHEMA WITH INTERNALS` gives them; fitted to a ring. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_KEYSPACE = re.compile(
    r'CREATE KEYSPACE (?:IF NOT EXISTS )?("(?:[^"]|"")+"|\w+) WITH replication = (\{[^}]*\})'
)
_PAIR = re.compile(r"'([^']+)'\s*:\s*'([^']*)'")
_PLACED = re.compile(r"(?:org\.apache\.cassandra\.locator\.)?(?:Simple|NetworkTopology)Strategy")
_SIMPLE = "replication_factor"
_TOPOLOGY = "NetworkTopologyStrategy"


def parse_replications(definitions: Iterable[str]) -> dict[str, int]:
    """By keyspace how many nodes keep each row, in all data centres together."""
    copies = {}
    for definition in definitions:
        if match := _KEYSPACE.match(definition):
            counts = [_parse_copies(value) for key, value in _PAIR.findall(match[2]) if key != "class"]
            copies[_unquote(match[1])] = max(1, sum(counts))
    return copies


def format_replication(copies: Mapping[str, int]) -> str:
    """The words for a keyspace that is kept so often in each of these data centres."""
    pairs = "".join(f", '{name}': '{count}'" for name, count in sorted(copies.items()))
    return f"{{'class': '{_TOPOLOGY}'{pairs}}}"


def adapt_definitions(
    definitions: Iterable[str], datacenter: str, nodes: int, beside: Mapping[str, int] | None = None
) -> tuple[str, ...]:
    """The same for a ring of so many nodes in one data centre of this name.

    A keyspace that is kept more than once in one data centre, or in several, is kept as often as in the one
    that has most, but on no more nodes than there are. `beside`: copies in other data centres of the ring,
    which only a keyspace that knows of data centres can have.
    """
    return tuple(_adapt_definition(definition, datacenter, nodes, beside or {}) for definition in definitions)


def drop_datacenter(definitions: Iterable[str], datacenter: str) -> tuple[str, ...]:
    """The same, kept in the other data centres only."""
    return tuple(_drop_datacenter(definition, datacenter) for definition in definitions)


def _drop_datacenter(definition: str, datacenter: str) -> str:
    match = _KEYSPACE.match(definition)
    if not match:
        return definition
    kept = re.sub(rf",\s*'{re.escape(datacenter)}'\s*:\s*'[^']*'", "", match[2])
    return definition[: match.start(2)] + kept + definition[match.end(2) :]


def _adapt_definition(definition: str, datacenter: str, nodes: int, beside: Mapping[str, int]) -> str:
    match = _KEYSPACE.match(definition)
    if not match:
        return definition
    pairs = _PAIR.findall(match[2])
    kinds = [value for key, value in pairs if key == "class"]
    counts = [_parse_copies(value) for key, value in pairs if key != "class"]
    if not counts or len(kinds) != 1 or not _PLACED.fullmatch(kinds[0]):
        return definition  # as it is, also for Cassandra to refuse
    copies = min(nodes, max(counts))
    if kinds[0].endswith("SimpleStrategy") and not beside:
        words = f"{{'class': '{kinds[0]}', '{_SIMPLE}': '{copies}'}}"
    else:
        words = format_replication({datacenter: copies, **beside})
    return definition[: match.start(2)] + words + definition[match.end(2) :]


def _parse_copies(value: str) -> int:
    """`3`, or `3/1` where one of three is transient."""
    count = value.partition("/")[0]
    return int(count) if count.isascii() and count.isdigit() and len(count) < 10 else 1


def _unquote(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
