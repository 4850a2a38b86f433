"""Traces as logs of fio, which its `read_iolog` replays, and logs of fio as traces.

The format is that of "I/O replay" in fio's manual: version 3 is written, 2 and 3 are read. fio 3.33 writes
and reads the time of version 3 in microseconds, which its manual does not say.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from steelyard.errors import StoreError, UsageError
from steelyard.files import write_whole
from steelyard.traces.folder import TraceFolder
from steelyard.traces.replay.rows import Row, read_rows
from steelyard.traces.writing import write_rows
from steelyard.untrusted import read_content

_HEAD = "fio version 3 iolog"
_LONGEST_NAME = 255  # what fio reads of a name
_MOST = 1 << 30
_SYNCS = {"fsync": "sync", "fdatasync": "datasync"}
_CALLS = {"read": "pread", "write": "pwrite", "sync": "fsync", "datasync": "fdatasync"}
_VERSION = re.compile(r"fio version ([23]) iolog")


class Export(NamedTuple):
    """How many lines a log has, and how many calls are not in it, since fio has no word for them."""

    lines: int
    left_out: int


class Action(NamedTuple):
    """A line of a log: when, in microseconds, and of a transfer where and how much, in bytes."""

    time: int
    path: str
    name: str
    offset: int = 0
    length: int = 0


def write_log(trace: TraceFolder, path: Path) -> Export:
    """Write reads, writes and syncs of a trace. Raises StoreError."""
    trace.verify()
    actions, left_out = list[Action](), 0
    for row in read_rows(trace.table):
        action = _describe(row)
        if action:
            actions.append(action)
        elif row.kind != "note":
            left_out += 1
    lines = [_HEAD, *_write_lines(actions)]
    try:
        write_whole(path, ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
    return Export(len(lines), left_out)


def _describe(row: Row) -> Action | None:
    name = row.kind if row.kind in ("read", "write") else _SYNCS.get(row.call)
    path = row.path or ""
    if not name or row.error or not path or re.search(r"\s", path) or len(path) > _LONGEST_NAME:
        return None
    if row.kind in ("read", "write") and (row.offset is None or not row.result):
        return None
    length = row.result or 0 if row.kind in ("read", "write") else 0
    return Action(row.start // 1000, path, name, row.offset or 0, length)


def _write_lines(actions: Iterable[Action]) -> Iterator[str]:
    """With each file added and opened where it is used first, and closed at the end."""
    opened, last = dict[str, None](), 0
    for action in actions:
        last = action.time
        if action.path not in opened:
            opened[action.path] = None
            yield f"{last} {action.path} add"
            yield f"{last} {action.path} open"
        yield f"{last} {action.path} {action.name} {action.offset} {action.length}"
    for path in opened:
        yield f"{last} {path} close"


def read_log(path: Path, folder: TraceFolder) -> int:
    """Make a trace of a log; how many calls it has. Raises UsageError that names the line, StoreError."""
    try:
        text = read_content(path, _MOST).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    actions = list(_read_lines(path, text))
    if not actions:
        raise UsageError(f"{path} has no action in it")
    rows = list(_make_rows(actions))
    write_rows(rows, folder, {"way": "fio", "log": str(path.absolute())})
    return len(rows)


def _read_lines(path: Path, text: str) -> Iterator[Action]:
    lines = text.splitlines()
    head = _VERSION.fullmatch(lines[0].strip()) if lines else None
    if head is None:
        raise UsageError(f"{path}:1: this is no log of fio of version 2 or 3")
    clock = 0
    for number, line in enumerate(lines[1:], 2):
        words = line.split()
        try:
            action = _read_words(words if head[1] == "3" else [str(clock), *words])
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {line.strip()[:80]!r} is no action of fio") from error
        if action.name == "wait":
            clock = max(clock, action.offset)
        else:
            yield action


def _read_words(words: list[str]) -> Action:
    time, path, name, *rest = words
    numbers = [int(word) for word in (time, *rest)]
    if len(rest) not in (0, 2) or min(numbers) < 0 or max(numbers) >= 1 << 62:
        raise ValueError(words)
    if name not in ("add", "open", "close", "trim", "wait", *_CALLS):
        raise ValueError(name)
    return Action(numbers[0], path, name, *numbers[1:])


def _make_rows(actions: list[Action]) -> Iterator[Row]:
    """One process; a file's descriptor is its number, and its size is as much as is read of it."""
    sizes, descriptors = dict[str, int](), dict[str, int]()
    for action in actions:
        if action.name == "read":
            sizes[action.path] = max(sizes.get(action.path, 0), action.offset + action.length)
    for action in actions:
        if action.name in ("add", "trim"):
            continue
        if action.path not in descriptors or action.name == "open":
            descriptors[action.path] = len(descriptors) + 3
            yield _make_row(action, "open", "open", descriptors[action.path], size=sizes.get(action.path, 0))
        if action.name == "close":
            yield _make_row(action, "close", "close", descriptors.pop(action.path))
        elif action.name in _CALLS:
            kind = "sync" if "sync" in action.name else action.name
            yield _make_row(action, _CALLS[action.name], kind, descriptors[action.path])


def _make_row(action: Action, call: str, kind: str, descriptor: int, size: int | None = None) -> Row:
    moves = kind in ("read", "write")
    return Row(
        start=action.time * 1000,
        duration=0,
        process=1,
        thread=1,
        call=call,
        kind=kind,
        path=str(Path("/", action.path)),
        other=None,
        descriptor=descriptor,
        offset=action.offset if moves else None,
        size=action.length if moves else 0,
        result=descriptor if call == "open" else action.length if moves else 0,
        error=None,
        detail=os.O_RDWR | os.O_CREAT if call == "open" else None,
        file_size=size,
    )
