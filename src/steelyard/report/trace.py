"""A trace's profile on a terminal: plain lines, also when they are piped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.printable import make_one_line
from steelyard.report.bars import draw_sparkline
from steelyard.report.columns import align, shorten, width
from steelyard.traces.profile import CallGroup, Profile
from steelyard.traces.queries import BINS, PARTS
from steelyard.traces.wording import characterise, list_unseen
from steelyard.units import format_count, show

_SHADES = " ░▒▓█"
_MOST_FILES, _WIDEST_PATH = 8, 60


def trace_lines(profile: Profile, document: Mapping[str, Any]) -> Iterator[str]:
    """The sentence that characterises it, calls, patterns, files, the course of time, and what is missing."""
    yield characterise(profile)
    if not profile.calls:
        return
    yield _describe_extent(profile)
    yield ""
    yield from _list_calls(profile)
    yield from _list_patterns(profile)
    yield from _list_files(profile)
    yield from _draw_time(profile)
    if (cost := document.get("cost")) is not None:
        share = cost * profile.calls / profile.seconds if profile.seconds else 0.0
        yield ""
        yield f"the recorder adds about {show(cost, 's')} to a call: {share:.1%} of the time here"
    for sentence in list_unseen(document):
        yield f"not seen: {sentence}"


def _describe_extent(profile: Profile) -> str:
    where = f"{format_count(profile.threads, 'thread')} of {_count_processes(profile.processes)}"
    calls, files = format_count(profile.calls, "call"), format_count(profile.files, "file")
    at_once = profile.busy / max(profile.seconds, 1e-9)
    busy = f"{show(profile.busy, 's')} in calls, {at_once:.2g} at once on average"
    return f"{calls} on {files} by {where} in {show(profile.seconds, 's')}; {busy}"


def _count_processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def _list_calls(profile: Profile) -> list[str]:
    head = ("call", "calls", "errors", "bytes", "time", "p50", "p99", "longest")
    rows = [head, *map(_describe_group, profile.names.values())]
    return align(rows, right=range(1, len(head)))


def _describe_group(group: CallGroup) -> Sequence[str]:
    times = (group.seconds, group.p50, group.p99, group.longest)
    moved = show(float(group.bytes), "B") if group.bytes else "–"
    return (group.name, str(group.calls), str(group.errors), moved, *(show(time, "s") for time in times))


def _list_patterns(profile: Profile) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("", "sequential", "strided", "random", "sizes")]
    for kind in ("read", "write"):
        patterns = profile.patterns.get(kind, {})
        total = sum(patterns.values())
        shares = [f"{patterns.get(name, 0) / total:.0%}" if total else "–" for name in rows[0][1:4]]
        sizes = profile.sizes.get(kind, ())
        if sizes:
            rows.append((kind, *shares, _describe_sizes(sizes)))
    if len(rows) > 1:
        yield ""
        yield from align(rows, right=(1, 2, 3))


def _describe_sizes(sizes: Sequence[tuple[int, int]]) -> str:
    """The three most frequent, as `4 KiB 98%`; each stands for itself and up to twice as much."""
    total = sum(calls for _, calls in sizes)
    most = sorted(sizes, key=lambda size: -size[1])[:3]
    return ", ".join(f"{show(float(1 << power), 'B')} {calls / total:.0%}" for power, calls in most)


def _list_files(profile: Profile) -> Iterator[str]:
    used = [file for file in profile.most_used if file.read or file.written][:_MOST_FILES]
    if used:
        yield ""
        rows = [("file", "read", "written", "calls", "time")]
        rows += [
            (
                _shorten_path(file.path),
                show(float(file.read), "B"),
                show(float(file.written), "B"),
                str(file.calls),
                show(file.seconds, "s"),
            )
            for file in used
        ]
        yield from align(rows, right=(1, 2, 3, 4))


def _draw_time(profile: Profile) -> Iterator[str]:
    width = profile.seconds / BINS or 1.0
    yield ""
    for name, column in (("read", 0), ("write", 1)):
        values = [each[column] / width for each in profile.over_time]
        if any(values):
            yield f"{name:6}{draw_sparkline(values)}  up to {show(max(values), 'B/s')}"
    at_once = [each[3] / width for each in profile.over_time]
    yield f"{'calls':6}{draw_sparkline(at_once)}  up to {max(at_once):.2g} at once"
    if profile.heat and profile.most_used:
        yield ""
        path = _shorten_path(profile.most_used[0].path)
        yield f"where in {path}, from its start (top) to its end:"
        yield from _draw_heat(profile.heat)


def _draw_heat(heat: Sequence[tuple[int, int, int]]) -> Iterator[str]:
    cells = {(part, at): moved for at, part, moved in heat}
    most = max(cells.values()) or 1
    for part in range(PARTS):
        shades = (cells.get((part, at), 0) / most for at in range(BINS))
        yield "      " + "".join(_SHADES[min(4, int(share * 4) + (share > 0))] for share in shades)


def _shorten_path(path: str) -> str:
    """Its end, which tells more than its beginning."""
    line = make_one_line(path)
    return (
        "…" + shorten(line[::-1], _WIDEST_PATH)[::-1].removeprefix("…")
        if width(line) > _WIDEST_PATH
        else line
    )
