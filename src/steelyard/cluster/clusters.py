"""The clusters of a store: which live, by which names, and what came of the application of one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from steelyard.controller.activity import CLUSTER_TAG, Activity, describe_line, find_activity
from steelyard.controller.jobs.follow import Follower
from steelyard.controller.jobs.run_job import RunJob
from steelyard.controller.loop import complete
from steelyard.errors import HostError, SteelyardError, UsageError, suggest_name
from steelyard.spec.yaml.source import read
from steelyard.store.layout import RunFolder, Store
from steelyard.store.reader import UNDER_WAY, RunRecord, glance

OUR_FAILURE = 125
NOT_FOUND = 127
"""Exit codes as timeout(1) has them: we failed, the program is not there. 128 and more: a signal ended it."""


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """A cluster that lives, or whose job is still to begin. `state`: `running` or `submitted`."""

    folder: RunFolder
    name: str
    state: str

    @property
    def activity(self) -> Activity:
        """What its journal says."""
        recovers = "recover" in _first_service(_read_tree(self.folder))
        return find_activity(RunRecord(self.folder).journal, recovers=recovers)


def list_clusters(store: Store) -> list[LiveCluster]:
    """All clusters of a store that are not over, oldest first."""
    clusters = []
    for folder in store.list_runs():
        state = glance(folder).state
        if state in UNDER_WAY and (name := cluster_name(folder)):
            clusters.append(LiveCluster(folder, name, "submitted" if state == "submitted" else "running"))
    return [one for one in clusters if one.state == "running" or not query_job(one.folder).is_over]


def cluster_name(folder: RunFolder) -> str:
    """What the cluster is called that a run holds; empty when it is none.

    An experiment of one's own that says `hold: true` is one, too, by its name.
    """
    tree = _read_tree(folder)
    tags = tree.get("tags")
    tagged = str(tags.get(CLUSTER_TAG, "")) if isinstance(tags, Mapping) else ""
    return tagged or (str(tree.get("experiment", "")) if tree.get("hold") is True else "")


def find_cluster(store: Store, name: str | None) -> LiveCluster:
    """The cluster of that name, or of that run; without a name the only one that lives. Raises UsageError."""
    every = list_clusters(store)
    if name is None:
        return _take_only(every, store)
    matches = [one for one in every if name in (one.name, one.folder.id)]
    matches = matches or [
        one for one in every if one.folder.id.startswith(name) or one.folder.id.endswith(name)
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(f"'{name}' matches several clusters", hint=format_clusters(matches))
    raise _unknown_error(name, every, store)


def _take_only(every: list[LiveCluster], store: Store) -> LiveCluster:
    if len(every) == 1:
        return every[0]
    if every:
        raise UsageError(f"{len(every)} clusters are live; name one of them", hint=format_clusters(every))
    raise _empty_error(store)


def _unknown_error(name: str, every: list[LiveCluster], store: Store) -> UsageError:
    with suppress(SteelyardError):
        folder = store.find(name)
        over = RunRecord(folder).glance().state
        return UsageError(f"cluster '{name}' is not live: run {folder.id} is {over}")
    if not every:
        return _empty_error(store)
    hint = suggest_name(name, [one.name for one in every])
    return UsageError(f"no live cluster '{name}'{hint}", hint=format_clusters(every))


def _empty_error(store: Store) -> UsageError:
    hint = "`steelyard cluster run` starts one; --store names another store"
    return UsageError(f"no live cluster in the store {store.root}", hint=hint)


def format_clusters(every: list[LiveCluster]) -> str:
    """A line for each."""
    width = max(len(one.name) for one in every)
    return "\n".join(f"{one.name:{width}}  {one.folder.id}  {one.activity.what}" for one in every)


def application_exit(folder: RunFolder) -> int:
    """The exit code of a run's application, as a shell would have it; 125 where it could not be run."""
    record = RunRecord(folder)
    if not record.trials:
        return OUR_FAILURE
    trial = record.trials[-1]
    if trial.result.status == "ok":
        return 0
    if trial.result.category == "tool-missing":
        return NOT_FOUND
    exits = [phase.get("exit", {}) for phase in record.trial_document(trial.number).get("phases", ())]
    codes = [exit_code(facts) for facts in exits]
    return next((code for code in codes if code), OUR_FAILURE)


def exit_code(found: Mapping[str, Any]) -> int:
    """Of an exit as the record has it."""
    signal, code = found.get("signal"), found.get("code")
    return 128 + int(signal) if signal else int(code or 0)


class ClusterFollower(Follower):
    """Follows a cluster in its job until its application has ended: it may stay up for others after that."""

    def _report_line(self, line: dict[str, Any]) -> None:
        super()._report_line(line)
        if text := describe_line(line):
            self.observer.on_wait(text)
        if line["kind"] == "run-held":
            self._ended, self._state, self._reason = True, "complete", "held"


class JobStatus(NamedTuple):
    """What the scheduler says of a job; nothing where the run is in none, or nobody answers."""

    sentence: str = ""
    is_over: bool = False


def query_job(folder: RunFolder) -> JobStatus:
    """How the job of a run stands. One that was cancelled in the queue leaves no word in the journal."""

    async def ask() -> JobStatus:
        job = await RunJob(RunRecord(folder)).query()
        return JobStatus(job.sentence, job.state.is_over)

    try:
        return complete(ask())
    except (UsageError, HostError):
        return JobStatus()


def _read_tree(folder: RunFolder) -> Mapping[str, Any]:
    """The experiment, as far as it can be read: names must be found beside runs that are damaged."""
    try:
        tree = read(RunRecord(folder).experiment_text, str(folder.experiment)).value
    except SteelyardError:
        return {}
    return tree if isinstance(tree, Mapping) else {}


def _first_service(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    services = tree.get("services")
    first: Any = next(iter(services.values()), {}) if isinstance(services, Mapping) else {}
    return first if isinstance(first, Mapping) else {}
