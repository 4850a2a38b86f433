"""Runs to report on: `build(…)`, see `analysis/synthetic.py`; `rich`, with all that a report can show.

`browser`: a real one to look at them with.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from browser import Browser
from steelyard.analysis.findings import Findings
from steelyard.model.metric import Metric, latency_metrics
from steelyard.model.trial import Cell, show_level
from steelyard.report import html
from steelyard.store.reader import RunRecord

HOSTILE = (
    "</script><img src=x onerror=window.pwned=1><!--<script>\u2028`${1}`|\x1b[31m\x00]]>&amp;\"'"
    "\x1b]0;pwn\x07\x9b2J\u202e\x7f"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One of its own for each file: what its pages complain of is nobody else's."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        Browser(Path(profile)) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def build_once(plans: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """One small run for many examples."""
    return plans.build(
        tmp_path_factory.mktemp("once"),
        parameters={"a": [1, 2]},
        repetitions=2,
        require=["write_bandwidth >= 1 MiB/s"],
    )


@pytest.fixture(scope="session")
def hostile(plans: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """A run in which a stranger wrote every text. It is shared: look, do not touch."""
    bad = HOSTILE
    metric = Metric(f"rate{bad}", "B/s", "higher", f"about{bad}")
    cell = f"a{bad}={show_level(bad)} b=2"
    return plans.build(
        tmp_path_factory.mktemp("hostile"),
        title=f"title{bad}",
        about=f"about{bad}",
        text=f"experiment: {bad}\n```\n{bad}\n",
        parameters={f"a{bad}": [bad, "plain"], "b": [1, 2]},
        metrics=[metric, Metric(f"latency{bad}", "s", "lower", kind="histogram")],
        figures=lambda cell, repetition, rng: {metric.name: rng.gauss(100, 1)},
        histograms=lambda cell, repetition, rng: {f"latency{bad}": {0.1: 5, 0.2 * repetition: 3}},
        failures={(cell, 1): (f"crashed{bad}", f"it said: {bad}")},
        marks={(cell, 2): ("disturbed", f"load {bad}")},
        warnings=[f"warning{bad}"],
        environment={
            f"host{bad}": {f"name{bad}": [bad, {bad: bad}]},
            "advice": [{"what": bad, "why": bad}, bad],
        },
        design={"covers": [bad], "tags": {bad: bad}, "workload": [{"use": bad, "options": {bad: bad}}]},
    )


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory, plans: ModuleType) -> RunRecord:
    """Event generation on three machines with prices: a loss, costs, and two rankings are derived."""
    prices = {"currency": "USD", "per_hour": {"m3.xlarge": 0.28, "c4.2xlarge": 0.44}, "date": "2015-08-01"}
    plan = plans.gensim(design={"prices": prices})
    return plans.build(tmp_path_factory.mktemp("machines"), **plan)


@pytest.fixture(scope="session")
def uploads(tmp_path_factory: pytest.TempPathFactory, plans: ModuleType) -> RunRecord:
    """A study of streams: a knee, failures and a speed-up are derived, and a loss cannot be."""
    asked = [
        {"knee": {"parameter": "streams", "metric": "throughput"}},
        {"failure_rate": {}},
        {"speedup": {"over": "streams"}},
        {"efficiency_loss": {}},
    ]
    return plans.build(tmp_path_factory.mktemp("uploads"), **plans.streams(design={"derive": asked}))


@pytest.fixture(scope="session")
def rich_report(rich: RunRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its HTML report."""
    return html.write(Findings(rich), tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="session")
def rich(plans: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """Six cells, eight repetitions, one disturbed and one failed trial, latencies and telemetry.

    It is shared: look, do not touch.
    """

    def figures(cell: Cell, repetition: int, rng: random.Random) -> dict[str, float]:
        size = float(str(cell.parameters["outstanding"]))
        return {
            "write_bandwidth": rng.gauss(1e9, 2e7) * size**0.2,
            "write_latency_p50": rng.lognormvariate(-7, 0.1) * size,
            "write_latency_p99": rng.lognormvariate(-6, 0.1) * size,
        }

    return plans.build(
        tmp_path_factory.mktemp("rich"),
        title="ingest",
        parameters={"outstanding": [1, 8, 64], "pattern": ["sequential", "random"]},
        metrics=[
            Metric("write_bandwidth", "B/s", "higher", "written per second"),
            *latency_metrics("write_latency", "x"),
        ],
        figures=figures,
        repetitions=8,
        histograms=lambda cell, repetition, rng: {"write_latency": {0.001: 900, 0.01: 99, 0.1: repetition}},
        telemetry=lambda number: [
            {
                "m": 100.0 + n,
                "cpu_user": 0.3,
                "cpu_system": 0.1 + n / 100,
                "disk_write": 1e8 * (1 + number % 7 + n),
            }
            for n in range(20)
        ],
        failures={("outstanding=64 pattern=random", 3): ("crashed", "fio ended with code 1; it said: boom")},
        marks={("outstanding=1 pattern=random", 2): ("disturbed", "foreign CPU load 0.35 cores (stress-ng)")},
        require=[
            ("write_bandwidth.median >= 500 MiB/s", "not (outstanding == 64 and pattern == 'random')"),
            ("write_latency_p99.median <= 1 ms", "outstanding == 64"),
        ],
    )
