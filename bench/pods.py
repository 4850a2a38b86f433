"""What our way into a pod adds to the pod's own start."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.kubernetes_cluster import BareCluster, running
from bench.process import in_turns
from bench.row import Row
from bench.setting import Setting, changed
from steelyard.hosts.token import Token
from steelyard.provision.kubernetes.hosts import lease_pods
from steelyard.provision.kubernetes.order import PodGroup, PodOrder, PodUse, build_job

IMAGE = "tools:1"
MOST = 2.0  # as many times as a bare Job takes


def rows(setting: Setting) -> Iterator[Row]:
    """Seconds until a pod has said something: the first command of a host, and the first line of a Job."""
    with running() as cluster, changed({"XDG_STATE_HOME": str(setting.fresh("state"))}):
        names = (f"bare-{number}" for number in itertools.count())
        took = in_turns(
            setting.turns,
            {
                "ours": partial(_time_host, cluster, setting.fresh("log") / "log"),
                "bare": lambda: cluster.time_first_line(_make_job(next(names))),
            },
        )
    what = "from asking for a pod to what its first command prints"
    yield Row("pods", what, "s", took["ours"], "a bare Job's first line", took["bare"], most=MOST)


def _time_host(cluster: BareCluster, log: Path) -> float:
    """A run's way: checked beforehand, waited for, reached, with an agent in it; its end is not counted."""

    async def whole() -> float:
        use, began = PodUse(kubeconfig=str(cluster.kubeconfig)), time.perf_counter()
        async with lease_pods(PodOrder((PodGroup("host", 1, IMAGE),)), use, Token.of("bench"), log) as (
            host,
        ):
            if await host.capture(("echo", "here")) != "here\n":
                raise RuntimeError("echo(1) in a pod printed something else")
            return time.perf_counter() - began

    return asyncio.run(whole())


def _make_job(name: str) -> dict[str, Any]:
    """One that is allowed as much as ours, prints, and is still there when its log is read."""
    group = PodGroup("host", 1, IMAGE)
    job = build_job(PodOrder((group,)), group, "bare", "bench")
    job["metadata"]["name"] = name
    job["spec"]["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", "echo here; exec sleep 60"]
    return job
