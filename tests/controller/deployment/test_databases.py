"""Experiments with Redis, memcached and PostgreSQL, and a password that is in no file of their record."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard import api
from steelyard.plugins import find
from steelyard.services.base import Service
from steelyard.tools.find import find_missing

PASSWORD = "a-password-that-only-this-test-knows"
REDIS = {"use": "redis_benchmark", "requests": 1000, "clients": 4}
PGBENCH = {"use": "pgbench", "duration": "3s"}
MEMASLAP = {"use": "memaslap", "duration": "1s", "concurrency": 2}
CASES = {
    "redis": ({"use": "redis"}, REDIS, "set_rate"),
    "redis-with-replicas": ({"use": "redis", "replicas": True}, REDIS, "get_rate"),
    "redis-cluster": ({"use": "redis", "cluster": True}, {**REDIS, "copies": 2}, "set_rate"),
    "memcached": ({"use": "memcached", "open": True, "memory": "16MiB"}, MEMASLAP, "rate"),
    "postgresql": ({"use": "postgresql", "fsync": False}, PGBENCH, "tps"),
    "postgresql-replicas": (
        {"use": "postgresql", "fsync": False},
        {**PGBENCH, "mode": "select-only", "spread": True, "copies": 2},
        "tps",
    ),
}


@pytest.fixture(autouse=True)
def known(emptied_scratch: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password."""
    monkeypatch.setattr(secrets, "token_urlsafe", lambda *_: PASSWORD)


def measured(told: Any, service: dict[str, Any], workload: dict[str, Any], **more: Any) -> api.Run:
    """One trial of a workload on a third host against a service on two."""
    for tool in find_missing(find("services", service["use"], Service).needs):
        pytest.skip(f"{tool.name} is not installed")
    tree = {
        "experiment": "databases",
        "roles": {"server": 3 if service.get("cluster") else 2, "client": 1},
        "services": {"store": {**service, "on": "server"}},
        "workload": {**workload, "on": "client", "to": "store"},
        "repeat": 1,
        "disturbed": "exclude",
        **more,
    }
    return api.run(tree, site="local:4", observer=told)


def words(folder: Path) -> bytes:
    """All that a run has kept, in one piece."""
    return b"\0".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", CASES)
def test_it_is_measured_and_its_password_is_in_no_record(name: str, told: Any) -> None:
    service, workload, metric = CASES[name]
    run = measured(told, service, workload)
    (trial,) = run.record.trials
    assert trial.result.status == "ok", trial.message
    assert trial.result.metrics[metric] > 0
    kept = words(run.record.folder.path)
    assert b"service-ready" in kept
    assert PASSWORD.encode() not in kept
    (ready,) = [line for line in run.record.journal if line["kind"] == "service-ready"]
    assert bool(ready.get("unauthenticated")) == bool(service.get("open"))


@pytest.mark.parametrize(("name", "said"), [("redis", "WRONGPASS"), ("postgresql", "authentication failed")])
def test_a_client_with_a_wrong_password_is_refused_and_neither_is_told(
    name: str, said: str, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, workload, _ = CASES[name]
    kind = find("services", name, Service)
    right = kind.endpoint
    monkeypatch.setattr(kind, "endpoint", lambda self: replace(right(self), password="not-" + PASSWORD))
    run = measured(told, service, workload)
    (trial,) = run.record.trials
    assert trial.result.category == "crashed", trial.message
    assert said in trial.message
    assert PASSWORD.encode() not in words(run.record.folder.path)


def test_percentiles_of_too_few_requests_are_no_figures(told: Any) -> None:
    few = {**REDIS, "tests": ["set"], "requests": 60, "copies": 2}
    run = measured(told, {"use": "redis"}, few)
    (trial,) = run.record.trials
    assert "set_latency_p99" in trial.result.metrics, "copies have enough together"
    assert "set_latency_p999" not in trial.result.metrics
    assert 120 <= trial.short["set_latency_p999"] < 1000
    document = json.loads((run.record.folder.trial(1) / "metrics.json").read_text())
    assert all("set_latency_p99" not in values for values in document["copies"].values())
