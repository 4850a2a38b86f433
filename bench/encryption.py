"""What TLS costs the clients of a database: the same load on the same server, encrypted and in the clear."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bench.process import NotMeasured, run
from bench.row import Row
from bench.setting import Setting, steelyard
from steelyard.spec.bind import service_class, workload_class
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord
from steelyard.tools.find import find_missing

MOST = 2.0  # as many times; who shook hands for every request would take dozens
LOADS: Mapping[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "set_rate": ("redis", {}, {"use": "redis_benchmark", "tests": ["set"], "requests": 200_000}),
    "tps": (
        "postgresql",
        {"fsync": False},
        {"use": "pgbench", "mode": "select-only", "clients": 4, "threads": 2, "duration": "5s"},
    ),
}


def rows(setting: Setting) -> Iterator[Row]:
    """Seconds a request takes, by TLS and without, for each kind of server."""
    for metric, (service, options, load) in LOADS.items():
        if lacking := find_missing((*service_class(service).needs, *workload_class(load["use"]).needs)):
            raise NotMeasured(f"not installed: {', '.join(tool.name for tool in lacking)}")
        found = _measured(setting, metric, {"use": service, **options}, load)
        what = f"a request to {service} by TLS, as its rate says"
        yield Row("encryption", what, "s", found["true"], "in the clear", found["false"], most=MOST)


def _measured(
    setting: Setting, metric: str, service: Mapping[str, Any], load: Mapping[str, Any]
) -> dict[str, tuple[float, ...]]:
    """Seconds a request, by whether clients used TLS; the sides take turns."""
    experiment = {
        "experiment": "encryption",
        "roles": {"db": 1, "client": 1},
        "parameters": {"tls": [True, False]},
        "services": {"store": {**service, "tls": "${tls}", "on": "db"}},
        "workload": {**load, "on": "client", "to": "store"},
        "repeat": 2 if setting.quick else 5,
        "disturbed": "include",
    }
    file = setting.fresh("encryption") / "encryption.yaml"
    file.write_text(json.dumps(experiment))
    store = file.with_name("store")
    words = ("run", "-q", "--site", "local:2", "--store", str(store), str(file))
    run(steelyard(*words), cwd=file.parent, env=setting.environment)
    (folder,) = (store / "runs").iterdir()
    found: dict[str, tuple[float, ...]] = {"true": (), "false": ()}
    for trial in RunRecord(RunFolder(folder)).trials:
        if trial.result.status != "ok":
            raise NotMeasured(trial.message)
        found[str(trial.result.trial.cell.parameters["tls"]).lower()] += (1 / trial.result.metrics[metric],)
    return found
