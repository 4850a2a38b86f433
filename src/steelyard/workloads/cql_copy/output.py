"""What cqlsh says of a COPY FROM: lines of progress, a summary, and on stderr what went wrong.

The summary stands last and counts the rows that were imported. Rows that were given up are in no count of it:
stderr has them. A request that failed is tried again, and cqlsh complains of that, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.plugin import Metric, Output, ParseFailure, Reading, SeriesSample

_TIME = r"((?:\d+ (?:day|hour|minute)s?,? (?:and )?)*)(\d+\.\d+) seconds"
_SUMMARY = re.compile(
    rf"^(-?\d+) rows imported from (\d+) files in {_TIME} \((\d+) skipped\)\.$", re.MULTILINE
)
_PART = re.compile(r"(\d+) (day|hour|minute)")
_SECONDS = {"day": 86400, "hour": 3600, "minute": 60}
_PROGRESS = re.compile(r"Processed: (\d+) rows; Rate: +\d+ rows/s; Avg\. rate: +(\d+) rows/s")
_STARTED = re.compile(r"^Starting copy of \S+ with columns \[(.+)\]\.$", re.MULTILINE)
_PROCESSES = re.compile(r"^Using (\d+) child processes$", re.MULTILINE)
_GIVEN_UP = re.compile(r"Failed to process (\d+) rows; failed rows written to ")
_AGAIN = re.compile(r"Failed to import (\d+) rows: .*?,  will retry later, attempt \d+ of \d+")
_BROKEN_OFF = re.compile(
    r"Exceeded maximum number of \w+ errors \d+|No records inserted in .*, aborting"
    r"|\d+ child process\(es\) died unexpectedly, aborting"
)
_PLACE = re.compile(r"^<stdin>:\d+:", re.MULTILINE)
_LONGEST = 300  # letters of a complaint
_TOO_LATE = (
    "the nodes took longer than their `write_request_timeout`, which is 2s unless the service's `settings` "
    "say otherwise; raise it there or lower `ingest_rate`"
)

METRICS = (
    Metric("ingest_rate", "1/s", "higher", "rows imported per second of `copy_time`"),
    Metric("copy_time", "s", "lower", "from the start of COPY until its processes ended", over_copies="max"),
    Metric("rows", "1", "higher", "rows imported"),
    Metric("lost_rows", "1", "lower", "rows of the file that were not imported: abandoned or skipped"),
    Metric("retried_rows", "1", "lower", "rows in failed requests that were sent again, counted each time"),
)


@dataclass(frozen=True, slots=True)
class _Summary:
    """cqlsh's last line: rows, files, skipped rows, and the time in seconds."""

    rows: int
    files: int
    skipped: int
    time: float


def parse_output(output: Output, may_fail: int) -> Reading:
    """One COPY. Raises ParseFailure also when it broke off, or lost more rows than it may."""
    complaints = [line[:_LONGEST] for line in _PLACE.sub("", output.stderr).splitlines() if line.strip()]
    summary = _parse_summary(output.stdout, complaints)
    if broken := _BROKEN_OFF.search(output.stderr):
        raise ParseFailure(
            f"COPY stopped after {max(0, summary.rows)} rows: {broken[0]}; {_explain(complaints)}"
        )
    if summary.rows < 1 or summary.time <= 0:
        raise ParseFailure(f"COPY imported nothing: {_explain(complaints)}")
    lost = sum(map(int, _GIVEN_UP.findall(output.stderr))) + summary.skipped
    _check(output, summary, lost, complaints)
    if lost > may_fail:
        raise ParseFailure(
            f"{lost} rows were not imported, but only {may_fail} may fail: {_explain(complaints)}"
        )
    values = {
        "rows": float(summary.rows),
        "copy_time": summary.time,
        "ingest_rate": summary.rows / summary.time,
        "lost_rows": float(lost),
        "retried_rows": float(sum(map(int, _AGAIN.findall(output.stderr)))),
    }
    return Reading(values, facts=dict(_facts(output.stdout, complaints)))


def parse_series(output: Output) -> tuple[SeriesSample, ...]:
    """The ingest rate between lines of progress. A line tells rows and their mean rate, so its time since the
    start; the moment of the last one is known, and so that of all. Nothing where it is not."""
    last = _read_number(output.raw, "last")
    if last is None:
        return ()
    times = [
        (int(rows), int(rows) / int(mean)) for rows, mean in _PROGRESS.findall(output.stdout) if int(mean)
    ]
    start = last - times[-1][1] if times else last
    samples, (before, began) = [], (0, 0.0)
    for rows, at in times:
        if rows > before and at > began:
            rate = (rows - before) / (at - began)
            samples.append(SeriesSample(start + at, at - began, {"ingest_rate": rate}))
            before, began = rows, at
    return tuple(samples)


def _parse_summary(text: str, complaints: list[str]) -> _Summary:
    lines = _SUMMARY.findall(text.replace("\r", "\n"))
    if len(lines) != 1:
        said = _explain(complaints) if complaints else f"its output ends with {text.strip()[-80:]!r}"
        raise ParseFailure(f"cqlsh reports no completed COPY: {said}")
    rows, files, parts, seconds, skipped = lines[0]
    time = float(seconds) + sum(int(count) * _SECONDS[unit] for count, unit in _PART.findall(parts))
    return _Summary(int(rows), int(files), int(skipped), time)


def _check(output: Output, found: _Summary, lost: int, complaints: list[str]) -> None:
    """The sum must be what was asked, and the progress must have come as far."""
    asked = _read_number(output.raw, "asked")
    if asked is not None and found.rows + lost != asked:
        told = f"{found.rows} rows imported and {lost} lost"
        raise ParseFailure(f"cqlsh reports {told}, but the file has {asked:.0f}: {_explain(complaints)}")
    progress = _PROGRESS.findall(output.stdout)
    if not progress or int(progress[-1][0]) < found.rows:
        raise ParseFailure("cqlsh's progress lines end before the total in its summary")


def _facts(text: str, complaints: list[str]) -> Iterator[tuple[str, Any]]:
    for name, pattern in (("processes", _PROCESSES), ("columns", _STARTED)):
        if match := pattern.search(text):
            yield name, match[1]
    if complaints:
        yield "complaints", list(dict.fromkeys(complaints))[:5]


def _read_number(raw: Mapping[str, Path], name: str) -> float | None:
    """What a small file of the wrapper holds; None where it holds no number."""
    try:
        text = raw[name].read_text(errors="replace").strip()
    except (KeyError, OSError):
        return None
    return float(text) if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", text) else None


def _explain(complaints: list[str]) -> str:
    """The first complaint; what to do comes before it, because it is long."""
    first = complaints[0] if complaints else "it gives no reason"
    return f"{_TOO_LATE}; {first}" if "WriteTimeout" in first else first
