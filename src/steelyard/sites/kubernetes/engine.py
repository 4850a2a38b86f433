"""A cluster as an engine for workloads that submit jobs: kubectl's commands, and what they print. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.plugin import Command, ParseFailure
from steelyard.plugin.site import EngineJob, EngineSubmission
from steelyard.provision.kubernetes.order import PodGroup
from steelyard.provision.kubernetes.queued_job import NAME_LABEL, build_queued_job

_STAMPS = Path(__file__).with_name("stamps.py")
_KUBECTL, _JOB, _NOTHING = "kubectl", "job.batch", "<none>"
_REFUSED = "involvedObject.kind=Job,reason=FailedCreate"
_HOLDS = '.status.conditions[?(@.status=="True")]'
_COLUMNS = {
    "NAME": ".metadata.name",
    "ACTIVE": ".status.active",
    "READY": ".status.ready",
    "CONDITIONS": f"{_HOLDS}.type",
    "REASONS": f"{_HOLDS}.reason",
}


@dataclass(frozen=True, slots=True)
class KubernetesEngine:
    """Jobs run in what `group` says, with a volume at `mount`; `cluster` are kubectl's options for the place.
    It finds credentials itself, as it does for its user: none is in its arguments.
    """

    group: PodGroup
    mount: str
    cluster: tuple[str, ...]

    title = "Kubernetes"
    programs = (_KUBECTL,)
    id_pattern = (r"^(job\.batch/\S+)\Z", 0)
    variables: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    def submit(self, job: EngineJob) -> EngineSubmission:
        """`kubectl create`, of a Job that comes on its standard input."""
        manifest = json.dumps(build_queued_job(self.group, self.mount, job))
        words = self._ask("create", "--filename", "-", "--output", "name")
        return EngineSubmission(Command(words, stdin=manifest))

    def describe(self, ids: Sequence[str]) -> Command:
        """`kubectl get`, of Jobs by their names: in columns, as the whole of a Job has its script in it."""
        columns = ",".join(f"{name}:{path}" for name, path in _COLUMNS.items())
        return Command(self._ask("get", *ids, "--no-headers", "--output", f"custom-columns={columns}"))

    def list_unfinished(self, name: str) -> Command:
        """`kubectl get`, of all Jobs with our label: after their end they stay until they are deleted."""
        return Command(self._ask("get", "jobs", *_label(name), "--output", "name"))

    def list_stamps(self, name: str) -> Command:
        """`kubectl get`, of Jobs, pods and events, behind a program that reads them where it runs."""
        objects = self._ask("get", "jobs,pods", *_label(name), "--output", "json")
        refusals = self._ask("get", "events", "--field-selector", _REFUSED, "--output", "json")
        return Command(("python3", "-c", _STAMPS.read_text("utf-8"), *objects, "--", *refusals))

    def cancel(self, identity: str) -> Command:
        """`kubectl delete`."""
        return Command(self._delete(identity))

    def cancel_all(self, name: str) -> Command:
        """`kubectl delete`, by our label."""
        return Command(self._delete("jobs", *_label(name)))

    def parse_description(self, stdout: str) -> Mapping[str, str]:
        """How Jobs stand, by their names as kubectl prints them. Raises ParseFailure."""
        rows = [line.split(maxsplit=len(_COLUMNS) - 1) for line in stdout.splitlines()]
        if not rows or any(len(row) != len(_COLUMNS) for row in rows):
            raise ParseFailure(f"kubectl does not print Jobs: {stdout[:80]!r}")
        return dict(_describe_job(*row) for row in rows)

    def _ask(self, verb: str, *words: str) -> tuple[str, ...]:
        return (_KUBECTL, *self.cluster, verb, *words)

    def _delete(self, *which: str) -> tuple[str, ...]:
        """Without waiting, which needs the verb `watch`; Jobs are there until their pods are gone."""
        return self._ask("delete", *which, "--cascade=foreground", "--wait=false", "--ignore-not-found")


def _label(name: str) -> tuple[str, str]:
    return ("--selector", f"{NAME_LABEL}={name}")


def _describe_job(name: str, active: str, ready: str, conditions: str, reasons: str) -> tuple[str, str]:
    identity = f"{_JOB}/{name}"
    for condition in {"Complete", "Failed"} & set(conditions.split(",")):
        return identity, f"{identity} is {condition.lower()} ({reasons})"
    if active in ("0", _NOTHING):
        return identity, f"{identity} has no pod"
    return identity, f"{identity} has a pod that {'does not run yet' if ready in ('0', _NOTHING) else 'runs'}"
