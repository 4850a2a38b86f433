"""Which parameter of a run sets its copies, its hosts or its machine, read off what was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from steelyard.analysis.machines import HostFacts, count_copies, count_cores, hosts, hosts_of, machine_of
from steelyard.analysis.series import find_setters
from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.store.reader import RunRecord

By = Literal["copies", "hosts", "level"]
FAILURE_RATE = "failure_rate"


def copies_setter(summary: RunSummary) -> str | None:
    """The parameter that sets the copies and not the hosts; else one that sets both; None without any."""
    names, moving = find_setters(summary, count_copies), find_setters(summary, hosts_of)
    return next((name for name in names if name not in moving), names[0] if names else None)


def hosts_setter(summary: RunSummary) -> str | None:
    """The parameter that sets how many hosts there are."""
    return next(iter(find_setters(summary, count_hosts)), None)


def machine_setter(summary: RunSummary, known: Mapping[str, HostFacts]) -> str | None:
    """The parameter that sets which machine a cell runs on, where that is always one kind of machine."""
    names = find_setters(summary, lambda cell: machine_of(cell, known))
    mixed = any(" + " in (machine_of(cell, known) or "") for cell in summary.cells)
    return names[0] if names and not mixed else None


def basis(summary: RunSummary, parameter: str) -> By:
    """What a parameter counts: hosts, else copies, else its levels."""
    if parameter in find_setters(summary, count_hosts):
        return "hosts"
    return "copies" if parameter in find_setters(summary, count_copies) else "level"


def has_copy_per_core(record: RunRecord, summary: RunSummary) -> bool:
    """Whether some cell runs one copy on each core of its hosts, and none runs more."""
    known = hosts(record)
    pairs = [(count_copies(cell), count_cores(cell, known)) for cell in summary.cells if cell.n]
    counts = [(copies, cores) for copies, cores in pairs if copies and cores]
    full = any(copies == cores for copies, cores in counts)
    return full and all(copies <= cores for copies, cores in counts)


def is_failure_rate(name: str) -> bool:
    """Whether a metric of this name is a failure rate; its phase may stand before it."""
    return name == FAILURE_RATE or name.endswith(f"_{FAILURE_RATE}")


def count_hosts(cell: CellSummary) -> int | None:
    """How many hosts a cell ran on; None when that is not known."""
    names = hosts_of(cell)
    return len(names) if names else None
