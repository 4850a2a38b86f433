"""What is made up for measuring is a record like any other."""

from __future__ import annotations

from pathlib import Path

from bench.planning import SHAPES, TRIALS, experiment

from bench import records
from steelyard.analysis.summary import summarise_run
from steelyard.design import Design, Results
from steelyard.spec.load import load
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord, glance


def test_a_big_run_has_the_promised_shape(tmp_path: Path) -> None:
    folder = records.big_run(Store(tmp_path), cells=12, trials=3)
    summary = summarise_run(RunRecord(folder))
    assert [cell.n for cell in summary.cells] == [3] * 12
    assert len(RunRecord(folder).metrics) == 8
    assert set(RunRecord(folder).histograms(36)) == {"latency"}
    assert RunRecord(folder).telemetry(records.WITH_TELEMETRY)


def test_many_runs(tmp_path: Path) -> None:
    store = Store(tmp_path)
    records.many_runs(store, 70)
    found = [glance(folder) for folder in store.list_runs()]
    assert len(found) == 70
    assert {(run.state, run.trials, run.failed) for run in found} == {("complete", 6, 0)}


def test_the_shapes_are_of_100_000_trials() -> None:
    for levels, repeat in SHAPES.values():
        cells = 1
        for most in levels:
            cells *= most
        assert TRIALS <= cells * repeat < TRIALS + repeat


def test_the_planned_file_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "many.yaml"
    path.write_text(experiment((3, 4), 5))
    found, _ = load(path)
    design = Design(found, seed=1)
    assert design.count_trials(Results()) == (60, 120)
