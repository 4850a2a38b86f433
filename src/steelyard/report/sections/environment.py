"""Where it was measured: the environment as it was recorded, whatever that may hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from steelyard.analysis.machines import read_fact
from steelyard.store.reader import RunRecord
from steelyard.units import format_count, show

DEEPEST = 6
MOST_ROWS = 400
SHORT, LONGEST = 160, 2000
FIRST = ("cpu", "memory", "scratch", "kernel", "system", "virtual", "tools", "experiment")
_HEADINGS = {"cpu": "CPU", "virtual": "Virtual machine, container"}
_BYTES = ("bytes", "total", "available", "free", "swap used", "huge page size", "read ahead")


class Group(NamedTuple):
    """A part of the environment: `rows` are pairs of name and text."""

    name: str
    rows: list[tuple[str, str]]


class EnvironmentSection(NamedTuple):
    """`groups` are what most readers ask for, `rest` is everything else. `advice` are sentences on what
    makes this a poor place to measure, as it was judged when the run began."""

    groups: list[Group]
    rest: list[Group]
    advice: list[str]


def describe_environment(record: RunRecord) -> EnvironmentSection:
    """The environment in groups by its first-level keys; what is short and flat in the first ones leads."""
    environment = {
        name: value for name, value in record.environment.items() if name not in ("schema", "advice")
    }
    plain = {name: value for name, value in environment.items() if not isinstance(value, Mapping | list)}
    nested = {name: value for name, value in environment.items() if name not in plain}
    groups, rest = [], [_group("", plain)]
    for name in sorted(nested, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST)):
        front, back = _split_short(nested[name]) if name in FIRST else ({}, nested[name])
        groups.append(_group(name, front))
        rest.append(_group(name, back))
    groups.append(Group("Images", list(map(_describe_image, record.images))))
    there = ([group for group in side if group.rows] for side in (groups, rest))
    return EnvironmentSection(next(there), next(there), list(_advice(record.environment)))


def describe_machine(record: RunRecord) -> str:
    """The machine in a few words: `AMD EPYC, 2 threads, 23.5 GiB, ext4 on /dev/vda`; may be empty."""
    known = record.environment
    threads, memory = read_fact(known, "cpu", "threads"), read_fact(known, "memory", "total")
    parts = [
        str(read_fact(known, "cpu", "model") or ""),
        format_count(threads, "thread") if isinstance(threads, int) else "",
        show(memory, "B") if isinstance(memory, int) else "",
        " on ".join(str(part) for key in ("type", "device") if (part := read_fact(known, "scratch", key))),
    ]
    return ", ".join(part[:SHORT] for part in parts if part)


def _describe_image(said: Mapping[str, Any]) -> tuple[str, str]:
    """`base on n1`, and `bookworm with fio, 310 MiB, made in 43.9 s`: what its size and its making cost."""
    size, seconds = said.get("bytes"), said.get("seconds")
    parts = [
        str(said.get("what", ""))[:LONGEST],
        show(size, "B") if isinstance(size, int) else "",
        "made by an earlier run" if said.get("cached") else "",
        f"made in {show(seconds, 's')}" if seconds and isinstance(seconds, int | float) else "",
    ]
    return f"{said.get('image')} on {said.get('host')}"[:SHORT], ", ".join(filter(None, parts))


def _split_short(value: Any) -> tuple[Any, Any]:
    """What is short and flat, and what is not."""
    if not isinstance(value, Mapping):
        return {}, value
    short = {
        name: item
        for name, item in value.items()
        if not isinstance(item, Mapping) and len(_text(item)) <= SHORT
    }
    return short, {name: item for name, item in value.items() if name not in short}


def _group(name: str, value: Any) -> Group:
    heading = _HEADINGS.get(name) or _words(name).capitalize()
    return Group(heading, [(row, _format_value(row, item)) for row, item in _rows(value)][:MOST_ROWS])


def _format_value(row: str, value: Any) -> str:
    if row.endswith(_BYTES) and isinstance(value, int) and not isinstance(value, bool):
        return show(value, "B")
    return _text(value)[:LONGEST]


def _advice(environment: Mapping[str, Any]) -> Iterator[str]:
    notes = environment.get("advice")
    for note in notes if isinstance(notes, list) else []:
        if isinstance(note, Mapping):
            what, why, then = (str(note.get(key, "")) for key in ("what", "why", "what_to_do"))
            yield f"{what[:1].upper()}{what[1:]}. {why} {then}".strip()


def _rows(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and depth < DEEPEST:
        for key, item in value.items():
            yield from _rows(item, f"{name} {_words(key)}".strip(), depth + 1)
    elif isinstance(value, list) and depth < DEEPEST and any(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value, start=1):
            yield from _rows(item, f"{name} {number}".strip(), depth + 1)
    elif value not in (None, "", [], {}):
        yield name, value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _words(key: object) -> str:
    return str(key).replace("_", " ")
