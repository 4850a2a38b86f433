"""What reports claim is what the simulations find."""

from __future__ import annotations

import json
import math
from itertools import groupby
from pathlib import Path

import pytest
from bench.setting import Setting
from bench.worlds import BIMODAL, WORLDS, bimodal, lognormal

from bench import simulations
from steelyard.analysis.claims import FILE, SimulationClaim, load_claims


def of_what(one: SimulationClaim) -> tuple[str, str, str]:
    return one.simulation, one.world, one.condition


MANY_MINUTES = pytest.mark.timeout(3600)  # of computing, on a busy machine
CLAIMED = {of_what(one): one for one in load_claims()}


def agree(one: SimulationClaim, other: SimulationClaim) -> bool:
    """Whether chance explains the difference: five standard errors of both."""
    share = (one.share * one.of + other.share * other.of) / (one.of + other.of)
    error = math.sqrt(max(share * (1 - share), 1e-4) * (1 / one.of + 1 / other.of))
    return abs(one.share - other.share) <= 5 * error


@pytest.mark.parametrize("name", simulations.SIMULATIONS)
def test_what_is_claimed_was_simulated_and_comes_again(name: str) -> None:
    """With other seeds and a few cases only."""
    found = list(simulations.SIMULATIONS[name](0.02, 1000))
    assert found
    assert [one for one in found if not agree(one, CLAIMED[of_what(one)])] == []


@pytest.mark.full
@MANY_MINUTES
@pytest.mark.parametrize("name", simulations.SIMULATIONS)
def test_what_is_claimed_comes_again(name: str) -> None:
    found = list(simulations.SIMULATIONS[name](0.3, 2000))
    assert [one for one in found if not agree(one, CLAIMED[of_what(one)])] == []


@pytest.mark.full
@MANY_MINUTES
def test_nothing_else_is_claimed() -> None:
    """Neither a figure of a simulation that is gone, nor one that somebody wrote."""
    names = {of_what(one) for simulate in simulations.SIMULATIONS.values() for one in simulate(0.1, 0)}
    assert names == set(CLAIMED)


def test_a_stop_keeps_what_is_promised() -> None:
    assert min(one.share for one in load_claims() if one.simulation == "coverage.sequential") >= 0.94


def test_a_session_in_a_hurry_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = SimulationClaim("coverage.median", "normal", "n=6", 0.96, 1000, 1, "2026-11-23")
    monkeypatch.setattr(simulations, "SIMULATIONS", {"median": lambda scale, seed: iter([one])})
    monkeypatch.setattr(simulations, "FILE", tmp_path / "claims.json")
    (row,) = simulations.rows(Setting(tmp_path, quick=True))
    assert (row.verdict, row.ours) == ("within", (pytest.approx(0.04),))
    assert not (tmp_path / "claims.json").exists()
    list(simulations.rows(Setting(tmp_path)))
    (entry,) = json.loads((tmp_path / "claims.json").read_text())["claims"]
    assert SimulationClaim(**entry) == one


def test_the_file_is_as_it_is_written(tmp_path: Path) -> None:
    simulations.write(list(load_claims()), tmp_path / "claims.json")
    assert (tmp_path / "claims.json").read_text() == FILE.read_text()


def test_worlds_have_the_median_that_they_say() -> None:
    for world in (*WORLDS, lognormal(0.1), bimodal(0.6, 30, 1)):
        values = sorted(value for row in world.rows(3, 2000, 10) for value in row)
        below = sum(value < world.median for value in values) / len(values)
        assert below == pytest.approx(0.5, abs=0.02), world


def test_no_two_worlds_share_a_name_or_draw_the_same() -> None:
    assert BIMODAL.kind == "bimodal"
    worlds = [*simulations.STOPPING, *simulations.SPREAD]
    for name, of in groupby(sorted(worlds, key=str), key=str):
        assert len({world.median for world in of}) == 1, name
