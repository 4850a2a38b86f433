"""What a snapshot saves: T_copy / (T_snapshot + T_recover), as the thesis on C4S (2018), 6.3, has it; slow.

Rows get into a ring of two nodes by cqlsh's COPY, each into both, so that the copy is done when it says so;
then all nodes keep their files, and the ring is brought back to them. The start of the nodes is on neither
side. What is measured is the run of an experiment file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bench.process import NotMeasured, run
from bench.row import Row
from bench.setting import Setting, steelyard
from steelyard.services.cassandra.home import CASSANDRA
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord
from steelyard.tools.find import find_missing
from steelyard.workloads.cql_copy import CqlCopy

MILLIONS = (1, 2, 5)
LEAST = 31.0  # at the most rows: 30.69 there, at 270 million rows on a cluster
_STEPS = ("connect", "wait", "flush", "freeze", "collect", "describe", "copy")


def rows(setting: Setting) -> Iterator[Row]:
    """The ratio at each number of rows, and the share of each step of the snapshot."""
    if lacking := find_missing((CASSANDRA, *CqlCopy.needs)):
        raise NotMeasured(f"not installed: {', '.join(tool.name for tool in lacking)}")
    for millions in MILLIONS[:1] if setting.quick else MILLIONS:
        found = _measured(setting, millions)
        copied, back = found["copy_copy_time"], found["snapshot_time"] + found["recover_time"]
        saved = f"{copied / back:.1f} times as fast"
        shares = {step: found[f"snapshot_{step}_time"] / found["snapshot_time"] for step in _STEPS}
        told = ", ".join(f"{step} {share:.0%}" for step, share in shares.items())
        yield Row(
            "recovery",
            f"snapshot and recovery of {millions} million rows",
            "s",
            (back,),
            "COPY",
            (copied,),
            most=1 / LEAST if millions == MILLIONS[-1] else None,
            note=f"{saved}: snapshot {found['snapshot_time']:.2f} s ({told}), "
            f"recovery {found['recover_time']:.2f} s",
        )


def _measured(setting: Setting, millions: int) -> Mapping[str, float]:
    file = setting.fresh(f"recovery-{millions}") / "recovery.yaml"
    file.write_text(json.dumps(_experiment(millions)))
    store = file.with_name("store")
    run(steelyard("run", "-q", "--store", str(store), str(file)), cwd=file.parent, env=setting.environment)
    (folder,) = (store / "runs").iterdir()
    (trial,) = RunRecord(RunFolder(folder)).trials
    if trial.result.status != "ok":
        raise NotMeasured(trial.message)
    return trial.result.metrics


def _experiment(millions: int) -> dict[str, Any]:
    """As examples/hbp/recover.yaml."""
    copy = {"phase": "copy", "use": "cql_copy", "on": "load", "to": "ring", "consistency": "LOCAL_QUORUM"}
    idle = {"phase": "idle", "use": "command", "on": "load", "run": ["sleep", str(15 + 5 * millions)]}
    return {
        "experiment": "recovery",
        "site": "local:3",
        "roles": {"db": 2, "load": 1},
        "services": {"ring": {"use": "cassandra", "on": "db", "replication": 2, "heap": "1GiB"}},
        "workload": [
            {**copy, "rows": millions * 1_000_000},
            idle,
        ],
        "timeline": [
            {"during": "idle", "at": "1s", "do": "snapshot", "service": "ring"},
            {"during": "idle", "at": "2s", "do": "recover", "service": "ring"},
        ],
        "telemetry": "off",
        "disturbed": "include",
        "repeat": 1,
    }
