"""The hosts of a run as they were recorded: what they are, how many copies each cell had, what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.summary import CellSummary
from steelyard.model.trial import Result
from steelyard.store.reader import RunRecord


@dataclass(frozen=True, slots=True)
class HostFacts:
    """A host. `type` is what a provider calls such a machine (`c4.xlarge`), empty where nobody does.

    `cores` is None where it was not recorded; `price` is that of an hour, in `currency`, as the site knew it.
    """

    name: str
    type: str = ""
    cores: int | None = None
    price: float | None = None
    currency: str = ""

    @property
    def machine(self) -> str:
        """What to call this kind of machine: its type, else the host's name."""
        return self.type or self.name


def read_fact(environment: Mapping[str, Any], *path: str) -> Any:
    """What an environment says of `cpu`, `threads`; None where it says nothing."""
    value: Any = environment
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def hosts(record: RunRecord) -> dict[str, HostFacts]:
    """The recorded hosts by name; entries that cannot be understood are left out."""
    return {host.name: host for host in _parse_hosts(record.environment)}


def count_copies(cell: CellSummary) -> int | None:
    """How many copies ran at once in a cell's poolable trials; None when they differ or there are none."""
    copies: int | None = _find_common(_select_pooled(cell), lambda result: result.copies)
    return copies


def hosts_of(cell: CellSummary, known: Mapping[str, HostFacts] | None = None) -> tuple[str, ...] | None:
    """The names of the hosts that a cell's poolable trials ran on; None when they differ or are not known.

    A record need not name them where there was only one: then it is the one that is `known`.
    """
    names: tuple[str, ...] | None = _find_common(_select_pooled(cell), lambda result: result.on)
    if names == () and known and len(known) == 1:
        return tuple(known)
    return names or None


def machine_of(cell: CellSummary, known: Mapping[str, HostFacts]) -> str | None:
    """What a cell ran on: `c4.xlarge`, or `a + b` for machines of two kinds; None when it is not known."""
    names = hosts_of(cell, known)
    if names is None:
        return None
    kinds = dict.fromkeys(known.get(name, HostFacts(name)).machine for name in names)
    return " + ".join(kinds)


def count_cores(cell: CellSummary, known: Mapping[str, HostFacts]) -> int | None:
    """The cores of all hosts of a cell together; None when any of them is not known."""
    cores = [known[name].cores if name in known else None for name in hosts_of(cell, known) or ()]
    numbers = [count for count in cores if count]
    return sum(numbers) if numbers and len(numbers) == len(cores) else None


def _select_pooled(cell: CellSummary) -> list[Result]:
    return [trial.result for trial in cell.trials if trial.result.is_poolable]


def _find_common(results: list[Result], fact: Any) -> Any:
    values = {fact(result) for result in results}
    return values.pop() if len(values) == 1 else None


def _parse_hosts(environment: Mapping[str, Any]) -> Iterator[HostFacts]:
    entries = environment.get("hosts")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
            price, currency = _parse_price(entry.get("price"))
            yield HostFacts(
                entry["name"],
                str(entry.get("type") or ""),
                _parse_count(entry.get("cores")),
                price,
                currency or str(entry.get("currency") or ""),
            )


def _parse_price(found: Any) -> tuple[float | None, str]:
    """A number, or a mapping of `per_hour` and `currency`."""
    if isinstance(found, Mapping):
        return _parse_positive(found.get("per_hour")), str(found.get("currency") or "")
    return _parse_positive(found), ""


def _parse_positive(found: Any) -> float | None:
    number = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if number and 0 < found < 1e12 else None


def _parse_count(found: Any) -> int | None:
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None
