"""Starts at one instant, and bare waiters beside them."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from bench.setting import Setting

from bench import lockstep, waiters
from steelyard.transports.namespaces.holders import search_path
from steelyard.transports.namespaces.network import NEEDS


@pytest.fixture
def waiter(tmp_path: Path) -> Path:
    if not (shutil.which("cc") or shutil.which("gcc")):
        pytest.skip("there is no C compiler (apt: gcc libc6-dev)")
    return waiters.compiled(tmp_path)


def test_the_spread_of_instants() -> None:
    assert waiters.spread([5_000_000_000, 3_000_000_000, 4_000_000_000]) == 2.0


@pytest.mark.parametrize("kind", [waiters.in_c, waiters.in_sh])
def test_bare_waiters_wait_for_the_instant(
    kind: waiters.Kind, waiter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiters, "AHEAD", 5.0)  # a busy machine takes its time to start them
    began = time.monotonic()
    assert waiters.bare_skew(kind, waiter, 3) > 0
    assert time.monotonic() - began > waiters.AHEAD


def test_without_a_compiler_there_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(waiters.NotMeasured, match="no C compiler"):
        waiters.compiled(tmp_path)


def test_rows_of_turns() -> None:
    turns = [lockstep.Turn([0.001, 0.002], [0.004], [0.004]), lockstep.Turn([0.003], [0.006], [0.004])]
    release, program = lockstep._rows("probe", turns)
    assert (release.ours, release.verdict) == ((0.002, 0.003), "within")
    assert (program.ratio, program.verdict) == (1.25, "not within")


@pytest.mark.full
def test_two_hosts_start_together(waiter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = [name for name in NEEDS if not shutil.which(name, path=search_path())]
    if os.geteuid() or lacking:
        pytest.skip(f"needs root and {', '.join(NEEDS)}")
    monkeypatch.setattr(lockstep, "HOSTS", 2)
    found = list(lockstep.rows(Setting(tmp_path, quick=True)))
    assert len(found) in (3, 4), "without a probe its rows are one that says so"
    assert all(skew >= 0 for row in found for skew in row.ours)
    assert [len(row.theirs) for row in found[-2:]] == [2, 2]
