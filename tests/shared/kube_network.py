"""The network of the stand-in cluster: which pods reach each other by the policies that there are.

Pods are processes on one loopback interface, so nothing can really be closed. Python programs in them meet
`kube_site/sitecustomize.py`, which reads here what is closed and lets connections fail accordingly.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Literal

NAMESPACE = "bench"
SITE = Path(__file__).with_name("kube_site")
Plugin = Literal["enforces", "lets open connections pass", "ignores policies"]
Documents = Iterable[Mapping[str, Any]]


def write_closed(path: Path, pods: Documents, policies: Documents, plugin: Plugin) -> None:
    """Which pairs of addresses are closed, for those who look."""
    listed, made = list(pods), [] if plugin == "ignores policies" else list(policies)
    known = [pod for pod in listed if pod["status"].get("podIP")]
    pairs = [
        [one["status"]["podIP"], other["status"]["podIP"]]
        for one in known
        for other in known
        if one is not other and not may_talk(one, other, made)
    ]
    whole = path.with_suffix(".new")
    whole.write_text(json.dumps({"pairs": pairs, "open": plugin == "enforces"}))
    whole.rename(path)


def may_talk(one: Mapping[str, Any], other: Mapping[str, Any], policies: list[Mapping[str, Any]]) -> bool:
    """Whether the policies let a connection from one pod to another pass."""
    leaves = _allows(one, other, policies, "Egress", "to")
    return leaves and _allows(other, one, policies, "Ingress", "from")


def _allows(
    pod: Mapping[str, Any], peer: Mapping[str, Any], policies: list[Mapping[str, Any]], kind: str, key: str
) -> bool:
    specs = [each["spec"] for each in policies]
    own = [
        each for each in specs if kind in each["policyTypes"] and _selects(each["podSelector"], _labels(pod))
    ]
    rules = [rule for spec in own for rule in spec.get(kind.lower()) or ()]
    return not own or any(_is_peer(each, peer) for rule in rules for each in rule[key])


def _is_peer(rule: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    if block := rule.get("ipBlock"):
        address = ip_address(pod["status"]["podIP"])
        return address in ip_network(block["cidr"]) and not any(
            address in ip_network(each) for each in block.get("except", ())
        )
    if space := rule.get("namespaceSelector"):
        return _selects(space, {"kubernetes.io/metadata.name": NAMESPACE})
    return _selects(rule["podSelector"], _labels(pod))


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    for wanted in selector.get("matchExpressions", ()):
        assert wanted["operator"] == "NotIn"
        if labels.get(wanted["key"]) in wanted["values"]:
            return False
    return True


def _labels(pod: Mapping[str, Any]) -> Mapping[str, str]:
    return pod["metadata"]["labels"]
