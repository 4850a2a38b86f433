"""What was tested: the plan as it was recorded, and the commands that it came to."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from steelyard.analysis.findings import Findings
from steelyard.analysis.summary import RunSummary
from steelyard.errors import StoreError
from steelyard.report.wording import format_list
from steelyard.store.reader import RunRecord
from steelyard.units import format_count

MOST_LEVELS = 20
_ORDERS = {
    "blocked": "every cell once in random order, then all again, so that slow drift affects all equally",
    "random": "all repetitions of all cells in one random order",
    "as-written": "a cell with all its repetitions, then the next",
}


class Plan(NamedTuple):
    """`facts` and `parameters` are pairs of name and text; `commands` are those of one trial."""

    about: str
    facts: list[tuple[str, str]]
    parameters: list[tuple[str, str]]
    metrics: list[tuple[str, str]]
    commands: list[str]
    experiment: str


def plan(findings: Findings) -> Plan:
    """The plan of a run."""
    record, summary = findings.record, findings.summary
    return Plan(
        str(record.design.get("about", "")),
        [(name, text) for name, text in _facts(record, summary) if text],
        [(axis.name, format_list(axis.levels, MOST_LEVELS)) for axis in summary.axes.values()],
        [(metric.name, _meaning(metric)) for metric in record.metrics.values()],
        _commands(record),
        record.experiment_text,
    )


def _facts(record: RunRecord, summary: RunSummary) -> list[tuple[str, str]]:
    design = record.design
    order = str(design.get("order", ""))
    return [
        ("Size", f"{format_count(len(summary.cells), 'cell')} x {_repetitions(design.get('repeat') or {})}"),
        ("Order", f"{order}: {_ORDERS[order]}" if order in _ORDERS else order),
        ("Order restricted to", str(design.get("restricted") or "")),
        ("Seed", str(design.get("seed", ""))),
        ("Stop rule", summary.sequential),
        ("Workload", _workloads(design.get("workload"))),
        ("Services", "; ".join(_services(record))),
        ("Timeline", "; ".join(map(_event, design.get("timeline") or ()))),
        ("Before each trial", ", ".join(map(_step, design.get("before_each") or ()))),
        ("Covers", ", ".join(map(str, design.get("covers") or ()))),
        ("Tags", _pairs(design.get("tags") or {})),
    ]


def _repetitions(repeat: Mapping[str, Any]) -> str:
    least, most = repeat.get("at_least"), repeat.get("at_most")
    return f"{least} repetitions" if least == most else f"{least} to {most} repetitions"


def _workloads(entries: Any) -> str:
    entries = entries if isinstance(entries, list) else [entries] if entries else []
    return "; ".join(
        ", ".join(
            filter(
                None, (f"{entry.get('use', '')}: {_pairs(entry.get('options') or {})}", _describe_wrap(entry))
            )
        )
        if isinstance(entry, dict)
        else str(entry)
        for entry in entries
    )


def _services(record: RunRecord) -> Iterator[str]:
    """What was deployed where, for how long, and who else could have talked to it."""
    ready = (line for line in record.journal if line.get("kind") == "service-ready")
    open_to = {
        str(line.get("service")): _describe_access(line) for line in ready if line.get("unauthenticated")
    }
    for name, use in (record.design.get("services") or {}).items():
        options = _pairs(use.get("options") or {})
        what = f"{name}: {use.get('use')} on {use.get('on')}, kept for the {use.get('keep')}"
        yield ", ".join(filter(None, (what, options, _describe_wrap(use), open_to.get(name, ""))))


def _describe_wrap(entry: Mapping[str, Any]) -> str:
    """The conditions of `wrap`."""
    asked = {key: value for key, value in (entry.get("wrap") or {}).items() if value is not None}
    return f"under {_pairs(asked)}" if asked else ""


def _describe_access(line: Mapping[str, Any]) -> str:
    """Of a service that asks for no password: to whom it is open, and where others were when it began."""
    shared = line.get("shared")
    where = f"; other users on {', '.join(map(str, shared))}" if isinstance(shared, list) and shared else ""
    at = f"; it listens on {line['bound']}" if line.get("bound") else ""
    return f"no password, open to {line['unauthenticated']}{at}{where}"


def _event(entry: Mapping[str, Any]) -> str:
    """`grow, service=ring to=4, at=30s during=run`."""
    timing = {key: entry[key] for key in ("at", "every", "when", "for", "within", "during") if key in entry}
    rest = {key: value for key, value in entry.items() if key not in timing and key != "do"}
    return ", ".join(filter(None, (str(entry.get("do")), _pairs(rest), _pairs(timing))))


def _step(step: Any) -> str:
    if not isinstance(step, dict):
        return str(step)
    return ", ".join(name if value is True else f"{name} {value}" for name, value in step.items())


def _pairs(mapping: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in mapping.items())


def _meaning(metric: Any) -> str:
    better = "" if metric.better == "none" else f"{metric.better} is better"
    return "; ".join(
        part for part in (metric.about, better, metric.kind if metric.kind != "scalar" else "") if part
    )


def _commands(record: RunRecord) -> list[str]:
    """The commands of the first trial whose record tells them, rather of one that went well."""
    for trial in sorted(record.trials, key=lambda trial: trial.result.status != "ok")[:5]:
        try:
            phases = record.trial_document(trial.number).get("phases", [])
            commands = [shlex.join(map(str, phase["argv"])) for phase in phases]
        except (StoreError, LookupError, TypeError, AttributeError):
            continue
        if commands:
            return commands
    return []
