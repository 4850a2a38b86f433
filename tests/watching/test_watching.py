"""What who watches sees: the state that the journal tells, and the newest samples."""

from __future__ import annotations

import json

import pytest

from run_states import watch
from steelyard.errors import StoreError
from steelyard.model.metric import Metric
from steelyard.watching.samples import LiveSeries, TrialSamples
from steelyard.watching.state import MOST_NOTES, WAITING
from steelyard.watching.watcher import Watcher

RATE = Metric("rate", "1/s", "higher", over_copies="sum")


@pytest.fixture
def record(build, plans):
    return build(**plans.watched())


def test_the_journal_tells_how_far_each_cell_is(record):
    state = watch(record)
    cells = {key: (cell.counted, cell.failed, cell.marked) for key, cell in state.cells.items()}
    assert cells == {"streams=1": (6, 0, 0), "streams=2": (5, 1, 0), "streams=4": (5, 0, 1)}
    assert (state.done, state.failed, state.state, state.is_over) == (18, 1, "complete", True)
    assert state.metric is not None
    assert state.metric.name == "throughput"
    told = "\n".join(state.notes)
    assert "crashed: streams=2, repetition 2: boom\\nand more" in told
    assert "foreign CPU load: streams=4, repetition 3" in told


def test_who_steers_a_run_is_named(record):
    again = {"kind": "run-resumed", "wall": 1000.0}
    asked = {"kind": "action-acknowledged", "wall": 1001.0, "action": "suspend", "by": "ada"}
    suspended = {"kind": "run-suspended", "wall": 1002.0, "by": "ada"}
    state = watch(record, again, asked, suspended)
    assert (state.state, state.is_over) == ("suspended", False)
    assert state.notes[-2].endswith("ada asked to suspend it")
    assert watch(record, again, suspended, {"kind": "run-continued", "wall": 2.0}).state == "running"


def test_a_run_that_waits_for_its_next_job_is_not_over(record):
    state = watch(record, {"kind": "run-ended", "wall": 1.0, "state": "interrupted", "next": "17"})
    assert (state.state, state.is_over) == (WAITING, False)
    state.take_in({"kind": "run-submitted", "wall": 2.0})
    assert not state.is_over


def test_only_the_newest_notes_are_kept(record):
    state = watch(record, *({"kind": "warning", "wall": 1.0, "text": f"w{n}"} for n in range(20)))
    assert len(state.notes) == MOST_NOTES
    assert state.notes[-1].endswith("w19")


def test_samples_of_all_copies_are_put_together_as_they_come(record):
    folder = record.folder.trial(99)
    samples = TrialSamples(record.folder, 99, {"rate": RATE})
    for name, value in (("client-0", 10.0), ("client-1", 5.0)):
        place = folder / name / "run"
        place.mkdir(parents=True)
        text = json.dumps({"at": 100.2, "length": 1.0, "values": {"rate": value, "other": 1.0}})
        (place / "samples.ndjson").write_text(f"{text}\n")
    assert samples.read_lines(3) == [LiveSeries("rate", "1/s", [15.0], [100.0])]
    with (folder / "client-0" / "run" / "samples.ndjson").open("a") as file:
        file.write('{"at": 101.2, "length": 1.0, "values": {"rate": 7.0}}\n{"at": 102, "torn')
    assert samples.read_lines(3) == [LiveSeries("rate", "1/s", [15.0, 7.0], [100.0, 101.0])]


def test_where_a_workload_tells_nothing_the_cpu_is_shown(record):
    path = record.folder.telemetry(98, "local", "ndjson")
    path.parent.mkdir(parents=True)
    ticks = ("cpu  100 0 100 800 0 0 0 0 0 0", "cpu  150 0 150 800 0 0 0 0 0 0")
    path.write_text(
        "".join(
            json.dumps({"t": at, "raw": {"/proc/stat": f"{one}\n"}}) + "\n" for at, one in enumerate(ticks, 1)
        )
    )
    assert TrialSamples(record.folder, 98, {"rate": RATE}).read_lines(3) == [
        LiveSeries("CPU of local", "%", [1.0], [2.0])
    ]


def test_a_hostile_record_is_one_clear_error(record):
    with record.folder.journal.open("a") as file:
        file.write('{"kind": "trial-ended", "trial": [], "wall": "never"}\n')
    with pytest.raises(StoreError, match="is invalid"):
        Watcher(record.folder).look()
