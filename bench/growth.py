"""Growing a ring of Cassandra from 3 nodes to 6 under a constant write load; slow.

What is measured is the run of an experiment file, as a user's would be: the time for each node is that of the
event in the journal, latencies are YCSB's own, second by second, before the first node joins and while one
does. All nodes and the load share this machine, so the figures have no limit: they tell the shape.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.launch import SMALL
from bench.process import NotMeasured, run
from bench.row import Row
from bench.setting import Setting, steelyard
from steelyard.analysis.over_time.event_log import LoggedEvent, list_events
from steelyard.model.metric import SeriesSample
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord
from steelyard.tools.find import find_missing
from steelyard.workloads.ycsb import Ycsb

NODES = 3
WARM = 10.0  # seconds of compiling, in which YCSB's figures tell nothing of the ring
CALM = 30.0  # seconds of load before the first node joins


def rows(setting: Setting) -> Iterator[Row]:
    """Time for each node; then p99 of updates while nodes join, beside that before."""
    if lacking := find_missing(Ycsb.needs):
        raise NotMeasured(f"not installed: {', '.join(tool.name for tool in lacking)}")
    record = _grown(setting, to=NODES + (1 if setting.quick else 3))
    found = list_events(record).get(1, [])
    took = tuple(each.ended - each.began for each in found if each.ended is not None)
    if not took:
        raise NotMeasured("no node joined before the load ended")
    words = f"growing {NODES} to {NODES + len(took)} under load: "
    yield Row("growth", f"{words}a node", "s", took, note=f"one after the other: {_seconds(took)}")
    samples = [sample for copy in record.series(1) for sample in copy if "update_p99" in sample.values]
    during, before = _during(samples, found), _before(samples, found)
    note = "p99 of each second of YCSB; the ratio is that of their medians"
    yield Row("growth", f"{words}p99 of updates", "s", during, "before", before, note=note)


def _grown(setting: Setting, to: int) -> RunRecord:
    file = setting.fresh("growth") / "growth.yaml"
    file.write_text(json.dumps(_experiment(to)))
    store = file.with_name("store")
    words = ("run", "-q", "--site", f"local:{to + 1}", "--store", str(store), str(file))
    run(steelyard(*words), cwd=file.parent, env=setting.environment)
    (folder,) = (store / "runs").iterdir()
    record = RunRecord(RunFolder(Path(folder)))
    (trial,) = record.trials
    if trial.result.status != "ok":
        raise NotMeasured(trial.message)
    return record


def _experiment(to: int) -> dict[str, Any]:
    """As examples/cloud-bursting/grow.yaml, with the small nodes of the tests and a load for two cores."""
    load = {"use": "ycsb", "on": "load", "to": "ring", "records": 5000, "threads": 4}
    length = CALM + 45.0 * (to - NODES)
    return {
        "experiment": "growth",
        "roles": {"db": to, "load": 1},
        "services": {
            "ring": {
                "use": "cassandra",
                "on": f"db[:{NODES}]",
                "grow_into": f"db[{NODES}:]",
                "keep": "trial",
                "replication": 3,
                **SMALL,
            }
        },
        "workload": [
            {"phase": "load", "do": "load", "measured": False, **load},
            {"phase": "run", "mix": {"update": 1}, "rate": "200/s", "duration": f"{length:g}s", **load},
        ],
        "timeline": [
            {
                "during": "run",
                "at": f"{CALM:g}s",
                "do": "grow",
                "service": "ring",
                "to": nodes,
                "within": "3min",
            }
            for nodes in range(NODES + 1, to + 1)
        ],
        "disturbed": "include",
        "repeat": 1,
    }


def _before(samples: Sequence[SeriesSample], found: Sequence[LoggedEvent]) -> tuple[float, ...]:
    """Until the first node joins, without the time in which Java compiles."""
    began = min(sample.at - sample.length for sample in samples) + WARM
    first = min(each.wall for each in found)
    return tuple(s.values["update_p99"] for s in samples if began < s.at <= first)


def _during(samples: Sequence[SeriesSample], found: Sequence[LoggedEvent]) -> tuple[float, ...]:
    ends = [(each.wall, each.wall + each.ended - each.began) for each in found if each.ended is not None]
    return tuple(
        sample.values["update_p99"]
        for sample in samples
        if any(began < sample.at <= ended for began, ended in ends)
    )


def _seconds(took: Sequence[float]) -> str:
    figures = ", ".join(f"{seconds:.1f} s" for seconds in took)
    return f"{figures} (median {statistics.median(took):.1f} s)"
