"""Seconds per trial from a journal, and the counting of syncs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from bench.process import NotMeasured, run
from bench.trial import seconds_per_trial, turn_by_turn

from bench import floor, syncs

REPOSITORY = Path(__file__).parents[2]
TRACE = """\
101 fdatasync(7)                        = 0
102 fsync(3 <unfinished ...>
101 fdatasync(7)                        = 0
102 <... fsync resumed>)                = 0
102 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED} ---
103 syncfs(4)                           = 0
103 +++ exited with 0 +++
"""


def journal(path: Path, *events: tuple[str, float, str]) -> Path:
    lines = [
        {"seq": number, "kind": kind, "mono": mono, "status": status}
        for number, (kind, mono, status) in enumerate(events)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_from_the_first_start_to_the_last_end(tmp_path: Path) -> None:
    found = journal(
        tmp_path / "journal.ndjson",
        ("run-started", 0.0, ""),
        ("trial-started", 10.0, ""),
        ("trial-ended", 10.5, "ok"),
        ("warning", 10.6, ""),
        ("trial-started", 11.0, ""),
        ("trial-ended", 13.0, "ok"),
        ("run-ended", 99.0, ""),
    )
    assert seconds_per_trial(found) == pytest.approx(1.5)


@pytest.mark.parametrize("ends", [[], [("trial-ended", 1.0, "ok"), ("trial-ended", 2.0, "failed")]])
def test_failed_trials_are_no_measurement(tmp_path: Path, ends: list[tuple[str, float, str]]) -> None:
    found = journal(tmp_path / "journal.ndjson", ("trial-started", 0.0, ""), *ends)
    with pytest.raises(NotMeasured):
        seconds_per_trial(found)


def test_turn_by_turn() -> None:
    assert turn_by_turn([0.002, 0.01], [0.02, 0.9]) == "2.00 ms (others 2.0 %), 10.0 ms (others 90 %)"


def test_an_interrupted_call_counts_once() -> None:
    assert syncs.count(TRACE) == 4


def test_syncs_are_counted_from_inside_where_strace_is_missing(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    counts = []
    for trials in (1, 4):
        words = ("run", "-q", "--repeat", str(trials), "--disturbed", "include", "--", "true")
        run((sys.executable, "-m", "bench.syncs", str(notes), *words), cwd=REPOSITORY)
        counts.append(syncs.count(notes.read_text()))
        notes.unlink()
    assert counts[1] - counts[0] == 3 * 2, "a trial is synced at its start and at its end"


def test_the_floor_leaves_what_a_trial_leaves(tmp_path: Path) -> None:
    floor.spawned_with_record(2, tmp_path)
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    of_one = ("host/run/stderr", "host/run/stdout", "metrics.json", "trial.json")
    assert found == [f"{number}/{name}" for number in (0, 1) for name in of_one] + ["journal"]
    assert (tmp_path / "journal").stat().st_size == 2 * 2 * len(floor.LINE)


def test_the_floor_appends_as_often_as_it_says(tmp_path: Path) -> None:
    floor.spawned_durably(2, tmp_path, syncs=3)
    assert (tmp_path / "floor").stat().st_size == 2 * 3 * len(floor.LINE)
