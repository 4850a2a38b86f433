"""Pods as the API server describes them: whether one runs, and if not, why. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from steelyard.printable import make_one_line

CONTAINER = "main"
"""What our container is called in its pod."""
HOPELESS = frozenset(
    {
        "InvalidImageName",
        "ErrImageNeverPull",
        "CreateContainerConfigError",
        "StartError",
        "ContainerCannotRun",
    }
)
"""Reasons for which it makes no sense to wait any longer."""
_STARTING = frozenset({"Pending", "ContainerCreating"})
_WORDS = {
    "Unschedulable": "no node has room for it",
    "ImagePullBackOff": "its image cannot be pulled",
    "ErrImagePull": "its image cannot be pulled",
    "InvalidImageName": "the name of its image is malformed",
    "ErrImageNeverPull": "its image is not on the node, and may not be pulled",
    "CreateContainerConfigError": "its container cannot be configured",
    "CreateContainerError": "its container cannot be created",
    "StartError": "its container cannot be started; does the image have `sh`?",
    "ContainerCannotRun": "its container cannot be started; does the image have `sh`?",
    "ContainerCreating": "its container is being created",
    "SchedulingGated": "it waits for its queue",
    "Evicted": "it was evicted",
    "OOMKilled": "it ran out of memory",
    "NodeLost": "its node is lost",
    "DeadlineExceeded": "its time was up",
    "Preempting": "a more important pod took its place",
    "TerminationByKubelet": "its node is shutting down",
    "DeletionByTaintManager": "its node was drained or is not ready",
    "EvictionByEvictionAPI": "it was evicted, as when its node is drained",
    "DeletionByPodGC": "its node is gone",
    "PreemptionByScheduler": "a more important pod took its place",
}


class PodState(NamedTuple):
    """A pod: its name, its place in its Job, its address, whether our container runs, and if not, why.

    `node` is where it is to run; empty while no node has been found.
    """

    name: str
    place: int
    address: str
    is_running: bool
    reason: str = ""
    message: str = ""
    node: str = ""

    @property
    def is_hopeless(self) -> bool:
        """Whether it will not run however long one waits."""
        return self.reason in HOPELESS

    @property
    def is_starting(self) -> bool:
        """Whether a node is about to run it, or does already and has not told: it tells once a second."""
        return bool(self.node) and not self.is_running and self.reason in _STARTING

    def explain(self) -> str:
        """Why it does not run, in a sentence's words."""
        words = _WORDS.get(self.reason, "it does not run")
        details = ": ".join(make_one_line(each)[:300] for each in (self.reason, self.message) if each)
        return f"{words} ({details})" if details else words


def read_state(pod: Mapping[str, Any]) -> PodState:
    """What the API server says of a pod."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    container = _own_container(status)
    running = bool(container.get("state", {}).get("running")) and not metadata.get("deletionTimestamp")
    index = str(metadata.get("annotations", {}).get("batch.kubernetes.io/job-completion-index", "0"))
    reason, message = ("", "") if running else next(_reasons(metadata, status, container), ("", ""))
    address = str(status.get("podIP") or "")
    node = str(pod.get("spec", {}).get("nodeName") or "")
    return PodState(
        str(metadata["name"]), int(index), address, running and bool(address), reason, message, node
    )


def _own_container(status: Mapping[str, Any]) -> Mapping[str, Any]:
    listed = status.get("containerStatuses") or ()
    return next((each for each in listed if each.get("name") == CONTAINER), {})


def _reasons(
    metadata: Mapping[str, Any], status: Mapping[str, Any], container: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Why it does not run, the most telling first."""
    conditions = {each.get("type"): each for each in status.get("conditions") or ()}
    if target := conditions.get("DisruptionTarget"):
        yield _read_reason(target)
    if status.get("reason"):
        yield _read_reason(status)
    for state in (container.get("state") or {}, container.get("lastState") or {}):
        for kind in ("terminated", "waiting"):
            if (told := state.get(kind)) and told.get("reason"):
                code = f"exit code {told['exitCode']}" if "exitCode" in told else ""
                yield told["reason"], str(told.get("message") or code)
    if metadata.get("deletionTimestamp"):
        yield "Terminating", "somebody deleted it"
    for kind in ("PodScheduled", "Initialized", "ContainersReady"):
        condition = conditions.get(kind, {})
        if condition.get("status") == "False" and condition.get("reason"):
            yield _read_reason(condition)
    yield str(status.get("phase") or "Pending"), ""


def _read_reason(entry: Mapping[str, Any]) -> tuple[str, str]:
    return str(entry.get("reason") or ""), str(entry.get("message") or "")


def newest(pods: Iterable[Mapping[str, Any]]) -> dict[int, PodState]:
    """The state of each index: of its pod that runs, else of the one that was made last."""
    states: dict[int, PodState] = {}
    for pod in sorted(pods, key=lambda each: str(each["metadata"].get("creationTimestamp") or "")):
        state = read_state(pod)
        if state.is_running or not (state.place in states and states[state.place].is_running):
            states[state.place] = state
    return states


def seconds_between(earlier: str | None, later: str | None) -> float | None:
    """Seconds from one of Kubernetes's times to another; they are whole seconds."""
    if not earlier or not later:
        return None
    first, last = (datetime.fromisoformat(each.replace("Z", "+00:00")) for each in (earlier, later))
    return (last - first).total_seconds()
