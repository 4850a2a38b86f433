"""The runs of one experiment: which belong to its history, in which segments, and which are left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from steelyard.analysis.comparison.comparability import Setting, describe_setting
from steelyard.analysis.history.order import WALL, sort_runs
from steelyard.analysis.summary import CellSummary, RunSummary, summarise_run
from steelyard.errors import StoreError
from steelyard.store.decisions import Decision
from steelyard.store.reader import CONFIRMS, UNDER_WAY, Glance, RunRecord

COMMIT = "commit"


@dataclass(frozen=True)
class HistoryRun:
    """A run, which is read when its figures are first asked for. Every figure raises StoreError."""

    record: RunRecord
    glance: Glance

    @property
    def id(self) -> str:
        """The run's id."""
        return self.glance.run

    @property
    def started(self) -> float:
        """When it began, in seconds since the epoch."""
        return self.glance.started

    @property
    def tags(self) -> Mapping[str, str]:
        """Those of its experiment, or of `run --tag`."""
        return self.glance.tags

    @property
    def commit(self) -> str:
        """What it measured, as its tag says; empty where it has none."""
        return self.tags.get(COMMIT, "")

    @cached_property
    def summary(self) -> RunSummary:
        """What it found."""
        return summarise_run(self.record)

    @cached_property
    def cells(self) -> dict[str, CellSummary]:
        """What it found of each cell, by its key."""
        return {one.cell.key: one for one in self.summary.cells}

    @cached_property
    def setting(self) -> Setting:
        """What it measures, and where."""
        return describe_setting(self.record)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A run that is no part of the history, and why."""

    run: str
    reason: str


@dataclass(frozen=True)
class Segment:
    """Runs that measure the same on the same machine with the same tools, in their order.

    `changed` says what is other than in the run before its first: `kernel: 6.1 -> 6.5`.
    """

    runs: tuple[HistoryRun, ...]
    setting: Setting
    changed: tuple[str, ...] = ()


def select_runs(
    runs: Iterable[HistoryRun], decisions: Mapping[str, Decision], by: str
) -> tuple[list[HistoryRun], list[LeftOut]]:
    """Those that belong to the history, in its order, and those that do not.

    A damaged record spoils no history.
    """
    chosen: list[HistoryRun] = []
    left_out: list[LeftOut] = []
    for run in runs:
        if reason := _find_reason(run, decisions, by):
            left_out.append(LeftOut(run.id, reason))
        else:
            chosen.append(run)
    return sort_runs(chosen, by), left_out


def _find_reason(run: HistoryRun, decisions: Mapping[str, Decision], by: str) -> str:
    """Why a run is left out; empty where it is not."""
    decision = decisions.get(run.id)
    if decision and decision.verdict == "ignored":
        return f"ignored by {decision.who}: {decision.why}"
    if run.glance.state in UNDER_WAY:
        return f"still {run.glance.state}"
    if other := run.tags.get(CONFIRMS):
        return f"confirms {other}"
    if by != WALL and by not in run.tags:
        return f"it has no tag '{by}'"
    try:
        _ = run.summary, run.setting
    except StoreError as error:
        return error.message
    return ""


def split_segments(runs: Sequence[HistoryRun]) -> list[Segment]:
    """Group runs that agree in what they measure and where.

    Runs of two machines may alternate: each joins the newest segment it agrees with.
    """
    segments: list[Segment] = []
    for number, run in enumerate(runs):
        place = _find_segment(segments, run)
        if place is None:
            changed = tuple(run.setting.list_changes(runs[number - 1].setting)) if number else ()
            segments.append(Segment((run,), run.setting, changed))
        else:
            one = segments[place]
            segments[place] = replace(one, runs=(*one.runs, run), setting=one.setting.merge(run.setting))
    return segments


def _find_segment(segments: Sequence[Segment], run: HistoryRun) -> int | None:
    fitting = (n for n in reversed(range(len(segments))) if not run.setting.list_changes(segments[n].setting))
    return next(fitting, None)
