"""Pods that keep the Pod Security Standard `restricted`, and have no token of the cluster's. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.transports.kubernetes.pods import CONTAINER

_ACCOUNT = 1000
_VOLUME = "scratch"


def build_pod(container: Mapping[str, Any], volume: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of a pod with one container, and the volume that this has mounted."""
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _ACCOUNT,
            "runAsGroup": _ACCOUNT,
            "fsGroup": _ACCOUNT,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": _VOLUME, **volume}],
    }


def build_container(
    image: str, words: Sequence[str], requests: Mapping[str, str], mount: str, variables: Mapping[str, str]
) -> dict[str, Any]:
    """A container that runs these words, with limits as its requests, and its pod's volume at `mount`."""
    return {
        "name": CONTAINER,
        "image": image,
        "command": [word.replace("$", "$$") for word in words],  # Kubernetes replaces $(NAME), and $$ by $
        "env": [{"name": name, "value": value} for name, value in variables.items()],
        "resources": {"requests": dict(requests), "limits": dict(requests)},
        "volumeMounts": [{"name": _VOLUME, "mountPath": mount}],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
