"""What YCSB prints and writes: its summary, its status lines, a log of latencies for each operation.

The summary on stdout ends a run; the status lines on stderr give how many operations were done at which
moment; the logs hold a histogram for each interval. All three must agree, or something of it is missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from steelyard.plugin import Output, ParseFailure
from steelyard.workloads.kit.hdr_log import LogInterval, parse_intervals

OPERATIONS = {
    "read": "READ",
    "update": "UPDATE",
    "insert": "INSERT",
    "scan": "SCAN",
    "read_modify_write": "READ-MODIFY-WRITE",
}
"""Names of metrics, and what YCSB calls the operation."""

_SUMMARY = re.compile(r"^\[([^\]\n]+)\], ([^,\n]+), (\S+)$", re.MULTILINE)
_STATUS = re.compile(
    r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}) (\d+) sec: (\d+) operations;", re.MULTILINE | re.ASCII
)
_CURRENT = re.compile(r"^\S+ \S+ \d+ sec: \d+ operations; ([\d.]+) current ops/sec;", re.ASCII)
_VERSION = re.compile(r"^YCSB Client (\S+)$", re.MULTILINE)
_TARGET = re.compile(r"^Command line: .* target=(\d+)", re.MULTILINE | re.ASCII)
_REASONS = re.compile(r"^operation failed: (.{1,300})", re.MULTILINE)


def parse_current_rate(line: str) -> float | None:
    """The operations per second that a status line gives; None for another line."""
    match = _CURRENT.match(line)
    return float(match[1]) if match else None


@dataclass(frozen=True, slots=True)
class StatusLine:
    """A status line: when, in seconds since 1970; `elapsed` whole seconds; operations done so far."""

    at: float
    elapsed: int
    operations: int


@dataclass(frozen=True, slots=True)
class YcsbOutput:
    """Everything that one client reported.

    `summary`: what it printed by section and name. `logs`: the intervals of each of YCSB's measurements,
    those of failed operations (`READ-FAILED`) and of intended starts (`Intended-READ`) among them.
    `target`: the operations per second that this client was told to do. `reasons`: why operations failed,
    the first few.
    """

    version: str
    target: int | None
    summary: Mapping[str, Mapping[str, float]]
    statuses: tuple[StatusLine, ...]
    logs: Mapping[str, tuple[LogInterval, ...]]
    reasons: tuple[str, ...]

    @property
    def throughput(self) -> float:
        """Operations per second of the whole run."""
        return self.overall_figure("Throughput(ops/sec)")

    def overall_figure(self, name: str) -> float:
        """A figure of the whole run. Raises ParseFailure."""
        value = self.summary.get("OVERALL", {}).get(name)
        if value is None or not 0 <= value < 1e12:
            raise ParseFailure(f"YCSB's summary has no '{name}' under OVERALL, or an impossible one: {value}")
        return value

    def count(self, operation: str) -> int:
        """How many of an operation went well."""
        return int(self.summary.get(operation, {}).get("Operations", 0))

    def failures(self, operation: str) -> int:
        """How many of an operation failed."""
        return self.count(f"{operation}-FAILED")

    def total(self) -> int:
        """Operations done, by the measurements, which have a read-modify-write and both of its parts."""
        names = [OPERATIONS[name] for name in ("read", "update", "insert", "scan")]
        parts = sum(self.count(name) + self.failures(name) for name in names)
        return parts - self.count(OPERATIONS["read_modify_write"])

    def total_failures(self) -> int:
        """Operations that failed, without the attempts that a load repeated."""
        return sum(self.failures(name) for name in OPERATIONS.values())


def parse_output(output: Output, *, loaded: bool) -> YcsbOutput:
    """All of it, checked against itself; a load tries what fails again. Raises ParseFailure."""
    target = _TARGET.search(output.stderr)
    result = YcsbOutput(
        _parse_version(output.stderr),
        int(target[1]) if target else None,
        _parse_summary(output.stdout),
        _parse_statuses(output.stderr),
        {name.removesuffix(".hdr"): _read_log(output, name) for name in output.raw if name.endswith(".hdr")},
        tuple(dict.fromkeys(_REASONS.findall(output.stderr))),
    )
    _check(result, loaded)
    return result


def sum_intervals(logs: Iterable[LogInterval]) -> dict[float, int]:
    """The sum of intervals."""
    total: Counter[float] = Counter()
    for interval in logs:
        total.update(interval.counts)
    return dict(sorted(total.items()))


def _check(result: YcsbOutput, loaded: bool) -> None:
    result.overall_figure("RunTime(ms)")
    done, measured = result.statuses[-1].operations, result.total()
    repeated = result.failures("INSERT") if loaded else 0
    if done != measured - repeated:
        raise ParseFailure(f"YCSB did {done} operations but measured {measured}: its output is incomplete")
    _check_logs(result)
    if not result.count("READ") and "Return=NOT_FOUND" in result.summary.get("READ", {}):
        hint = "load first, with `do: both` or an entry with `do: load`"
        raise ParseFailure(f"none of the records read exists; {hint}")
    if done and done == result.total_failures() - repeated:
        raise ParseFailure(f"every operation failed: {'; '.join(result.reasons) or 'no reason given'}")


def _check_logs(result: YcsbOutput) -> None:
    for section, figures in result.summary.items():
        if section.endswith("CLEANUP"):
            continue  # no operation: clients take leave while the last interval is being written
        logged = sum(sum_intervals(result.logs.get(section, ())).values())
        if logged != figures.get("Operations", 0):
            raise ParseFailure(f"{section}.hdr has {logged} of {figures.get('Operations', 0):g} operations")


def _parse_version(text: str) -> str:
    match = _VERSION.search(text)
    if not match:
        raise ParseFailure(f"YCSB's greeting is missing; stderr begins with {text[:80]!r}")
    return match[1]


def _parse_summary(text: str) -> dict[str, dict[str, float]]:
    sections: dict[str, dict[str, float]] = {}
    for section, name, value in _SUMMARY.findall(text):
        sections.setdefault(section, {})[name] = _parse_number(value, f"[{section}], {name}")
    if "OVERALL" not in sections:
        raise ParseFailure(f"YCSB's summary is missing; stdout begins with {text[:80]!r}")
    return sections


def _parse_number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParseFailure(f"YCSB's summary: {where} is {text[:40]!r}, which is not a number") from None


def _parse_statuses(text: str) -> tuple[StatusLine, ...]:
    statuses = tuple(
        StatusLine(_parse_moment(at), int(elapsed), int(done)) for at, elapsed, done in _STATUS.findall(text)
    )
    if not statuses:
        raise ParseFailure(f"YCSB's status lines are missing; stderr ends with {text[-80:]!r}")
    return statuses


def _parse_moment(text: str) -> float:
    """The launcher sets the clock's zone."""
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S:%f").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise ParseFailure(f"YCSB's status line has no timestamp: {text!r}") from None


def _read_log(output: Output, name: str) -> tuple[LogInterval, ...]:
    """The intervals of a log.

    Two threads of YCSB that measure the first operation of a kind at once both open its log; the one that
    is given up truncates it, so that it may begin with a hole, read as zeros, where a header was.
    """
    return parse_intervals(output.raw[name].read_text(errors="replace").replace("\0", ""), name)
