"""What happened in a trial at its moments: the events of its timeline, as bands over time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from steelyard.store.reader import RunRecord


@dataclass(frozen=True, slots=True)
class Happening:
    """An event: what it was, its first and last moment on the controller's clocks (s), and how it was timed.

    `began` and `ended` are monotonic, `wall` is the first moment in seconds since 1970. `ended` is None for
    one of which the record knows no end.
    """

    label: str
    began: float
    ended: float | None
    wall: float
    timing: str


def happenings(record: RunRecord) -> dict[int, list[Happening]]:
    """The events of each trial that had any, by its number, in the order in which they began."""
    found: dict[int, dict[tuple[object, object], Happening]] = {}
    for line in record.journal:
        if line["kind"] not in ("event-began", "event-ended"):
            continue
        of_trial, key = found.setdefault(int(line["trial"]), {}), (line.get("entry"), line.get("began"))
        if line["kind"] == "event-began":
            moment, wall = float(line["mono"]), float(line["wall"])
            of_trial[key] = Happening(_label(line), moment, None, wall, _timing(line))
        elif key in of_trial:
            of_trial[key] = replace(of_trial[key], ended=float(line["mono"]))
    return {number: list(of_trial.values()) for number, of_trial in found.items()}


def _label(line: dict[str, object]) -> str:
    options = line.get("options")
    told = options if isinstance(options, dict) else {}
    words = [str(told[key]) for key in ("service", "on") if key in told]
    words += [f"{key} {told[key]}" for key in ("node", "to") if key in told]
    return " ".join([str(line.get("event", "")), *words])


def _timing(line: dict[str, object]) -> str:
    asked, began = line.get("asked"), line.get("began")
    if not isinstance(began, int | float):
        return ""
    if not isinstance(asked, int | float):
        return f"when its condition held, {began:.2f} s after the phase began"
    return f"asked for at {asked:.2f} s, began at {began:.2f} s of the phase"
