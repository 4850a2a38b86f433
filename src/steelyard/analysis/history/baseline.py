"""The runs of a history that a run is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.analysis.history.history import History
from steelyard.analysis.history.runs import HistoryRun
from steelyard.errors import UsageError

SEGMENT = "segment"
TAG = "tag:"
MOST = 40
"""Runs of a segment: more tell little more, and each has to be read."""


def select_baseline(history: History, judged: Sequence[str], against: str) -> list[HistoryRun]:
    """The runs to compare these with, the oldest first.

    `segment`: those of the same machine and tools before the first of them, since anything that is followed
    last changed. `tag:NAME` or `tag:NAME=VALUE`: all with such a tag. Raises UsageError where there is none.
    """
    if against == SEGMENT:
        return _select_level(history, judged)
    name, _, value = against.removeprefix(TAG).partition("=")
    tagged = [run for run in history.runs if name in run.tags and value in ("", run.tags[name])]
    return _check_runs([run for run in tagged if run.id not in judged], f"has the tag {against[len(TAG) :]}")


def _select_level(history: History, judged: Sequence[str]) -> list[HistoryRun]:
    """The newest level of the segment that the first of them is in, as it was before them."""
    places = [place for place, run in enumerate(history.runs) if run.id in judged]
    if not places:
        reasons = [one.reason for one in history.left_out if one.run in judged]
        raise UsageError(f"{judged[0]} is no part of its history: {'; '.join(reasons)}")
    first = history.runs[places[0]]
    segment = next(one for one in history.segments if first in one.runs)
    before = segment.runs[: segment.runs.index(first)]
    past = replace(history, every=before)
    numbers = {run.id: number for number, run in enumerate(before)}
    begins = max((numbers[change.run] for one in past.series for change in one.changes), default=0)
    changed = f", where {segment.changed[0]}" if segment.changed else ""
    what = f"was made before, on this machine with these tools{changed}"
    return _check_runs([*before[begins:]][-MOST:], what)


def _check_runs(runs: list[HistoryRun], what: str) -> list[HistoryRun]:
    if not runs:
        hint = "measure the baseline first, or name runs: steelyard compare BEFORE AFTER"
        raise UsageError(f"no run of this experiment {what}", hint=hint)
    return runs
