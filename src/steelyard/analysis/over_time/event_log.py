"""What happened in a trial at its moments: the events of its timeline, as bands over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.store.reader import RunRecord

_HEALED_BY = {"kill": "restart", "pause": "resume"}
_LASTING = ("kill", "pause", "cut", "partition")  # those without a length go on until they are healed
_OUTAGES = (*_LASTING, "restart")


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event: what it was, its first and last moment on the controller's clocks (s), and how it was timed.

    `began` and `ended` are monotonic, `wall` is the first moment in seconds since 1970. `ended` is None for
    one of which the record knows no end. `phase_elapsed` is how long its phase had been going on. An `outage`
    ends when what was out is there again, be it by an event of its own: a kill and its restart are one.
    """

    label: str
    began: float
    ended: float | None
    wall: float
    timing: str
    phase_elapsed: float = 0.0
    outage: bool = False

    @property
    def outcome(self) -> str:
        """What came of it: `back after 2.05 s`, `took 31.20 s`."""
        if self.ended is None:
            return "not back in this trial" if self.outage else "not complete"
        return f"{'back after' if self.outage else 'took'} {self.ended - self.began:.2f} s"


@dataclass(frozen=True, slots=True)
class TimeOrigin:
    """The moment from which the charts of a trial count: seconds since 1970, and on the monotonic clock."""

    wall: float
    mono: float

    @classmethod
    def of(cls, events: Sequence[LoggedEvent]) -> TimeOrigin | None:
        """The beginning of the phase by which events are timed; None without any."""
        return next(
            (cls(one.wall - one.phase_elapsed, one.began - one.phase_elapsed) for one in events), None
        )


def list_events(record: RunRecord) -> dict[int, list[LoggedEvent]]:
    """The events of each trial that had any, by its number, in the order in which they began."""
    return group_events(record.journal)


def group_events(lines: Iterable[Mapping[str, Any]]) -> dict[int, list[LoggedEvent]]:
    """The same from lines of a journal, which may be those of a trial that runs."""
    lines_by_event: dict[int, dict[tuple[object, object], list[Mapping[str, Any]]]] = {}
    for line in lines:
        if line["kind"] in ("event-began", "event-ended"):
            key = (line.get("entry"), line.get("began"))
            lines_by_event.setdefault(int(line["trial"]), {}).setdefault(key, []).append(line)
    return {number: _build_events(list(events.values())) for number, events in lines_by_event.items()}


def _build_events(events: Sequence[Sequence[Mapping[str, Any]]]) -> list[LoggedEvent]:
    """From the lines of each event. What ends an outage is no happening of its own."""
    timeline: list[LoggedEvent] = []
    out: dict[tuple[str, str], int] = {}  # by what would end it, and where
    for first, *rest in events:
        if first["kind"] != "event-began":
            continue
        name, where = str(first.get("event", "")), _describe_target(first)
        ended = float(rest[-1]["mono"]) if rest else None
        if (name, where) in out:
            index = out.pop((name, where))
            label = f"{timeline[index].label}, {name}"
            timeline[index] = replace(timeline[index], label=label, ended=ended)
            continue
        lasting = name in _LASTING and not _options(first).get("length")
        if lasting and name in _HEALED_BY:
            out[_HEALED_BY[name], where] = len(timeline)
        timeline.append(_build_event(first, None if lasting else ended))
    return timeline


def _build_event(line: Mapping[str, Any], ended: float | None) -> LoggedEvent:
    began, name = line.get("began"), str(line.get("event", ""))
    return LoggedEvent(
        " ".join(filter(None, (name, _describe_target(line)))),
        float(line["mono"]),
        ended,
        float(line["wall"]),
        _timing(line),
        float(began) if isinstance(began, int | float) else 0.0,
        name in _OUTAGES,
    )


def _describe_target(line: Mapping[str, Any]) -> str:
    told = _options(line)
    words = [str(told[key]) for key in ("service", "on") if key in told]
    return " ".join(words + [f"{key} {told[key]}" for key in ("node", "to") if key in told])


def _options(line: Mapping[str, Any]) -> dict[str, Any]:
    options = line.get("options")
    return options if isinstance(options, dict) else {}


def _timing(line: Mapping[str, Any]) -> str:
    asked, began = line.get("asked"), line.get("began")
    if not isinstance(began, int | float):
        return ""
    if not isinstance(asked, int | float):
        return f"when its condition became true, {began:.2f} s after the phase began"
    return f"due at {asked:.2f} s, began at {began:.2f} s of the phase"
