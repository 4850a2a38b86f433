"""What launching a service costs: launches of nothing for real, and the arithmetic of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bench.process import NotMeasured
from bench.setting import Setting

from bench import growth, launch
from steelyard.analysis.over_time.event_log import LoggedEvent
from steelyard.model.experiment import Experiment
from steelyard.model.metric import SeriesSample
from steelyard.spec.load import check
from steelyard.tools.find import find_missing


def test_services_that_are_ready_at_once_are_launched_for_real(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of them stays: tests/conftest.py looks."""
    monkeypatch.setattr(launch, "MOST", {2: 3600.0})
    monkeypatch.setattr(launch, "find_missing", list)
    rows = launch.rows(Setting(tmp_path, quick=True))
    row = next(rows)
    assert len(row.ours) == len(row.theirs) == 2
    assert all(seconds > 0 for seconds in (*row.ours, *row.theirs))
    assert row.verdict == "within"
    with pytest.raises(NotMeasured, match="not installed: java, cassandra"):
        next(rows)


def parts(own: float, seconds: float = 10.0) -> dict[str, float]:
    return {"seconds": seconds, "own": own, "context": 0.01, "configure": 0.02, "watch": 0.5}


@pytest.mark.parametrize(("own", "verdict"), [(0.4, "within"), (0.6, "not within")])
def test_the_share_of_a_launch(own: float, verdict: str) -> None:
    share, context, configure = launch.share([parts(0.01), parts(own), parts(own)])
    assert (share.ours, share.verdict) == ((0.01, own, own), verdict)
    assert (context.ours, configure.ours) == ((0.01,) * 3, (0.02,) * 3)
    assert "500 ms of CPU" in share.note


@pytest.mark.full
def test_a_ring_tells_of_its_parts(enterable: Path) -> None:
    for tool in find_missing((launch.JAVA, launch.CASSANDRA)):
        pytest.skip(f"{tool.name} is not installed")
    found = launch.launched(Setting(enterable), "timed", 1)
    assert 0 < found["context"] + found["configure"] <= found["own"] < found["seconds"]
    assert found["watch"] > 0


@pytest.mark.parametrize("to", [4, 6])
def test_the_experiment_of_growth_is_sound(to: int) -> None:
    check(Experiment(**growth._experiment(to)))


def sample(at: float, p99: float) -> SeriesSample:
    return SeriesSample(at=at, length=1.0, values={"update_p99": p99})


def happening(wall: float, took: float | None) -> LoggedEvent:
    return LoggedEvent("grow", 50.0, None if took is None else 50.0 + took, wall, "")


def test_seconds_before_and_while_nodes_join() -> None:
    samples: Sequence[Any] = [sample(100.0 + n, float(n)) for n in range(1, 61)]
    found = [happening(130.0, 5.0), happening(150.0, 2.0), happening(158.0, None)]
    assert growth._before(samples, found) == tuple(float(n) for n in range(11, 31))
    assert growth._during(samples, found) == (31.0, 32.0, 33.0, 34.0, 35.0, 51.0, 52.0)
