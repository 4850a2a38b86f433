"""A Job that runs one program and is over with it: what a cluster is asked for as other engines are. Pure."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

from steelyard.model.engine import EngineJob
from steelyard.provision.kubernetes.order import PodGroup, merge
from steelyard.provision.kubernetes.restricted import build_container, build_pod

NAME_LABEL, KEY_LABEL = "steelyard/jobs", "steelyard/job"
TIME_TO_LIVE = 300
"""Seconds after its end for which a Job stays, so that its stamps are still there after an outage."""
_TELL = 'mkdir -p "$TMPDIR" && cd "$TMPDIR" && exec "$@" >/dev/termination-log'


def build_queued_job(group: PodGroup, mount: str, job: EngineJob) -> dict[str, Any]:
    """A Job of one pod, which is not made anew: a failure is one. It has a volume of its own at `mount`.

    It waits and runs no longer than it may, whoever is there to see it, and then goes by its time to live.
    What it prints is its termination message, of which the kubelet keeps 4096 bytes in the pod's status.
    """
    seconds = math.ceil(job.seconds)
    words = ("sh", "-c", _TELL, "sh", *job.words)
    tmp = {"TMPDIR": f"{mount}/tmp"}  # noqa: S108 - a place of its own
    container = build_container(group.image, words, group.requests, mount, tmp)
    spec = {**build_pod(container, {"emptyDir": {}}), "activeDeadlineSeconds": seconds}
    template = reduce(merge, group.templates, {"metadata": {}, "spec": spec})
    labels = {**template["metadata"].get("labels", {}), NAME_LABEL: job.name, KEY_LABEL: job.key}
    template["metadata"] |= {"labels": labels}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": f"{job.name}-", "labels": labels},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": seconds + math.ceil(job.waits),
            "ttlSecondsAfterFinished": TIME_TO_LIVE,
            "template": template,
        },
    }
