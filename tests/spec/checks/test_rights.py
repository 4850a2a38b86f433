"""What needs root is refused before any host is asked for, where a site surely gives none."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.controller.choices import RunChoices, choose_site
from steelyard.errors import UsageError
from steelyard.model.experiment import Experiment
from steelyard.sites.kubernetes import Kubernetes, KubernetesOptions
from steelyard.sites.local import Local, LocalOptions

PRIVILEGED = {"spec": {"containers": [{"name": "main", "securityContext": {"privileged": True}}]}}
WORKLOAD = {"use": "command", "run": ["true"]}


def experiment(**more: Any) -> Experiment:
    return Experiment.model_validate({"experiment": "e", "workload": WORKLOAD, **more})


def pods(**more: Any) -> RunChoices:
    return RunChoices(Kubernetes(KubernetesOptions(image="tools:1", **more)))


ASKED: dict[str, dict[str, Any]] = {
    "`drop_caches` in before_each": {"before_each": ["sync", "drop_caches"]},
    "`machine` of role db": {
        "roles": {"db": {"hosts": 1, "machine": {"huge_pages": 4}}},
        "allow": "machine-settings",
        "workload": {**WORKLOAD, "on": "db"},
    },
    "mounting service files": {
        "services": {"files": {"use": "tmpfs"}},
        "workload": {"use": "fio", "directory": "files"},
    },
    "`memory` in wrap": {"workload": {**WORKLOAD, "wrap": {"memory": "64MiB", "nice": 5}}},
}


@pytest.mark.parametrize("what", ASKED)
def test_what_needs_root_is_refused(what: str) -> None:
    with pytest.raises(UsageError, match="does not permit") as told:
        choose_site(pods(), experiment(**ASKED[what]))
    assert f"does not permit {what}: its pods are not privileged" in told.value.message
    assert "privileged: true" in told.value.hint


def test_all_of_it_is_named_at_once() -> None:
    with pytest.raises(UsageError, match=r"`drop_caches` in before_each, `memory` in wrap: "):
        choose_site(pods(), experiment(**ASKED["`drop_caches` in before_each"], **ASKED["`memory` in wrap"]))


@pytest.mark.parametrize("what", ASKED)
def test_a_site_that_may_have_root_is_asked_later(what: str) -> None:
    choose_site(RunChoices(Local(LocalOptions())), experiment(**ASKED[what]))
    choose_site(pods(pod=PRIVILEGED), experiment(**ASKED[what]))
    choose_site(pods(roles={"db": {"pod": PRIVILEGED}}), experiment(**ASKED[what]))


def test_what_needs_no_root_is_let_through() -> None:
    choose_site(pods(), experiment(before_each=["sync"], workload={**WORKLOAD, "wrap": {"nice": 5}}))
