"""What differs between the runs of a comparison beside their figures, and whether they may be compared.

What was asked may differ, as that is what a comparison is for: options of a workload, a service, a commit.
Where it was measured may not, unless somebody says so: a faster machine is no faster program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.damage import guard_record
from steelyard.analysis.machines import read_fact
from steelyard.errors import UsageError
from steelyard.store.reader import RunRecord
from steelyard.units import show

ASKED = ("experiment", "services", "timeline", "before_each", "order", "roles", "outliers", "tags")
PLACE = {
    "CPU": ("cpu", "model"),
    "CPU threads": ("cpu", "threads"),
    "microcode": ("cpu", "microcode"),
    "governor": ("frequency", "governors"),
    "turbo": ("frequency", "turbo"),
    "memory": ("memory", "total"),
    "transparent huge pages": ("memory", "transparent_huge_pages"),
    "kernel": ("kernel", "release"),
    "system": ("system", "pretty_name"),
    "virtual machine": ("virtual", "machine"),
    "container": ("virtual", "container"),
    "file system of the scratch": ("scratch", "type"),
    "device of the scratch": ("scratch", "device"),
}
_ASIDE = ("tags", "order", "outliers", "commit of the experiment")
_NOTHING: tuple[object, ...] = (None, "", (), [], {})
_Facts = dict[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same on both sides. `place`: it is of the machine or its programs.

    `before` and `after` are texts, of all runs of a side where they disagree among themselves; empty where a
    side has no such thing.
    """

    what: str
    before: str
    after: str
    place: bool

    def __str__(self) -> str:
        return f"{self.what}: {self.before or 'none'} -> {self.after or 'none'}"


def differences(a: Sequence[RunRecord], b: Sequence[RunRecord]) -> tuple[Difference, ...]:
    """What differs between the runs of a and those of b, or among those of one side; first what was asked.

    Of the machine only what both sides recorded is compared, as not every run comes to record it. Raises
    StoreError for a damaged record.
    """
    asked = _find_differences([_design_facts(run) for run in a], [_design_facts(run) for run in b])
    placed = _find_differences([_host_facts(run) for run in a], [_host_facts(run) for run in b])
    return (
        *(Difference(what, before, after, place=False) for what, before, after in asked),
        *(Difference(what, before, after, place=True) for what, before, after in placed if before and after),
    )


def check_alike(runs: Sequence[RunRecord], found: Iterable[Difference], *, across: bool) -> None:
    """Refuse runs that do not measure the same; unless `across`, also those of another machine or tool.

    Raises UsageError.
    """
    uses = {run.id: _list_workloads(run) for run in runs}
    if len(set(uses.values())) > 1:
        told = "; ".join(f"{run} measures {' and '.join(names)}" for run, names in uses.items())
        hint = "compare runs of the same workload; `steelyard list` shows all runs"
        raise UsageError(f"these runs measure different things: {told}", hint=hint)
    places = [difference for difference in found if difference.place]
    if places and not across:
        told = "\n  ".join(map(str, places))
        hint = "--across compares them anyway and lists the differences with the verdict"
        raise UsageError(f"these runs differ in machine or programs:\n  {told}", hint=hint)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run measures (`asked`) and where (`placed`), by names; each a text."""

    asked: Mapping[str, str]
    placed: Mapping[str, str]

    def list_changes(self, before: Setting) -> list[str]:
        """What is other than before: `kernel: 6.1 -> 6.5`; of the machine only what both recorded."""
        both = [what for what in self.placed if what in before.placed]
        every = dict.fromkeys((*self.asked, *before.asked))
        pairs = [(what, before.asked.get(what, "none"), self.asked.get(what, "none")) for what in every]
        pairs += [(what, before.placed[what], self.placed[what]) for what in both]
        return [f"{what}: {old} -> {new}" for what, old, new in pairs if old != new]

    def merge(self, other: Setting) -> Setting:
        """With what only the other recorded."""
        return Setting(self.asked, {**other.placed, **self.placed})


def describe_setting(run: RunRecord) -> Setting:
    """Runs that agree in it belong together in a history.

    The commit of the experiment and its tags may differ, and how often it repeats. Raises StoreError.
    """
    asked = {what: text for what, text in _design_facts(run).items() if what.partition(".")[0] not in _ASIDE}
    return Setting(asked, _host_facts(run))


def _list_workloads(run: RunRecord) -> tuple[str, ...]:
    """What a run measures, by the names of the catalogue."""
    with guard_record(run.id):
        parts = run.design.get("workload") or ()
        return tuple(str(part["use"]) for part in parts if part.get("measured", True))


def _find_differences(a: list[_Facts], b: list[_Facts]) -> Iterator[tuple[str, str, str]]:
    for what in dict.fromkeys(name for facts in (*a, *b) for name in facts):
        before, after = (list(dict.fromkeys(facts.get(what, "") for facts in side)) for side in (a, b))
        if before != after or len(before) > 1:
            yield what, " | ".join(before), " | ".join(after)


def _design_facts(run: RunRecord) -> _Facts:
    """What the experiment asks of the world, without what only decides how often and what to say of it."""
    with guard_record(run.id):
        design, commit = run.design, run.environment.get("experiment")
        parts = [
            {**part, **(part.get("options") or {}), "options": None} for part in design.get("workload") or ()
        ]
        workload = parts[0] if len(parts) == 1 else dict(enumerate(parts, start=1))
        asked = {"workload": workload, **{name: design.get(name) for name in ASKED}}
        return {**dict(_flatten("", asked)), **(_commit_facts(commit) if isinstance(commit, Mapping) else {})}


def _commit_facts(found: Mapping[str, Any]) -> _Facts:
    if not found.get("commit"):
        return {}
    changed = " with changes" if found.get("dirty") else ""
    return {"commit of the experiment": f"{str(found['commit'])[:12]}{changed}"}


def _flatten(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Names with dots and texts of all that is said; what is empty is the same as what is not there."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flatten(f"{name}.{key}".lstrip("."), item)
    elif value not in _NOTHING:
        yield name, " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _host_facts(run: RunRecord) -> _Facts:
    with guard_record(run.id):
        environment = run.environment
        hosts = [host for host in environment.get("hosts") or () if isinstance(host, Mapping)]
        machines = [environment, *(host["environment"] for host in hosts if "environment" in host)]
        facts = {
            "Steelyard": str(run.journal[0].get("version", "")),
            "site": run.site or "",
            "hosts": _join(f"{host.get('name')} {host.get('type') or ''}".strip() for host in hosts),
        }
        facts |= _machine_facts(machines) | _tool_versions(machines)
        return {what: text for what, text in facts.items() if text}


def _machine_facts(machines: Sequence[Mapping[str, Any]]) -> _Facts:
    return {what: _join(_text(read_fact(each, *path)) for each in machines) for what, path in PLACE.items()}


def _tool_versions(machines: Sequence[Mapping[str, Any]]) -> _Facts:
    tools = [each.get("tools") or {} for each in machines]
    names = sorted({name for each in tools for name in each})
    return {name: _join(str(each.get(name, "")) for each in tools) for name in names}


def _text(value: Any) -> str:
    """Sizes are rounded: a kernel of the same machine may keep some kilobytes more to itself."""
    if isinstance(value, Mapping):
        return ", ".join(sorted(map(str, value)))
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int) and value > 1 << 20:
        return show(value, "B")
    return "" if value is None else str(value)


def _join(texts: Iterable[str]) -> str:
    """Each once, in order of the alphabet, as hosts have no other that means anything."""
    return ", ".join(sorted({text for text in texts if text}))
