"""Find the history of an experiment in a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from steelyard.analysis.history.history import History
from steelyard.analysis.history.order import WALL
from steelyard.analysis.history.runs import HistoryRun
from steelyard.errors import UnknownName
from steelyard.store.decisions import read_decisions
from steelyard.store.layout import Store, cut_title
from steelyard.store.reader import RunRecord, glance


def load_history(store: Store, experiment: str, *, by: str = WALL, metrics: Sequence[str] = ()) -> History:
    """All runs of an experiment in a store; by time, or by a tag. Raises as `make_history`."""
    return make_history(store, experiment, find_runs(store, experiment), by=by, metrics=metrics)


def find_runs(store: Store, experiment: str) -> list[HistoryRun]:
    """The runs of an experiment, the oldest first; none is read further than its two ends."""
    folders = [folder for folder in store.list_runs() if folder.title == cut_title(experiment)]
    return [
        HistoryRun(RunRecord(folder), seen)
        for folder in folders
        if folder.journal.is_file() and (seen := glance(folder)).title == experiment
    ]


def make_history(
    store: Store, experiment: str, runs: Sequence[HistoryRun], *, by: str = WALL, metrics: Sequence[str] = ()
) -> History:
    """The history of these runs, with what people decided.

    Raises UnknownName for an experiment without runs, and for a tag that none of them has.
    """
    if not runs:
        known = list_experiments(store)
        hint = f"there are {', '.join(known) or 'no runs'} in {store.root}; --store names another store"
        raise UnknownName("experiment", experiment, known, hint=hint)
    tags = dict.fromkeys(name for run in runs for name in run.tags)
    if by != WALL and by not in tags:
        hint = (
            f"there are {', '.join(tags) or 'none'}; `steelyard run FILE --tag {by}=VALUE` gives a run a tag"
        )
        raise UnknownName("tag", by, tags, hint=hint)
    return History(experiment, tuple(runs), read_decisions(store, experiment), by, tuple(metrics))


def list_experiments(store: Store) -> dict[str, int]:
    """How many runs each experiment has, by the beginning of its name that ids of runs hold."""
    return dict(Counter(folder.title for folder in store.list_runs()).most_common())
