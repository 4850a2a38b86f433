"""Series of copies put together, and events on the same clock."""

from __future__ import annotations

import json

import pytest

from steelyard.analysis.over_time.event_log import TimeOrigin, list_events
from steelyard.analysis.over_time.time_series import group_by_unit, load_series
from steelyard.errors import StoreError
from steelyard.model.metric import Metric

METRICS = [
    Metric("throughput", "1/s", "higher", "operations per second"),
    Metric("read_p99", "s", "lower", "99 % of reads", histogram="read"),
]


@pytest.fixture
def record(build):
    return build(
        parameters={"a": [1]},
        repetitions=1,
        metrics=METRICS,
        figures=lambda cell, repetition, rng: {"throughput": 1.0, "read_p99": 0.1},
    )


def write(record, slot: str, *samples: tuple[float, float, dict[str, float]]) -> None:
    folder = record.folder.phase(1, slot, "run")
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"at": at, "length": length, "values": values}) for at, length, values in samples)
    (folder / "samples.ndjson").write_text("\n".join(lines) + "\n")


def test_rates_of_copies_add_up_and_of_quantiles_the_worst_is_shown(record):
    write(record, "load-0", *((100.0 + n, 1.0, {"throughput": 10.0, "read_p99": 0.1 * n}) for n in (1, 2, 3)))
    write(record, "load-1", *((100.2 + n, 1.0, {"throughput": 5.0, "read_p99": 0.25}) for n in (1, 2)))
    found = load_series(record, 1)
    assert found.began == 100.0
    assert found.seconds == [1.0, 2.0, 3.0]
    assert found.columns["throughput"] == [15.0, 15.0, 10.0]
    assert found.columns["read_p99"] == pytest.approx([0.25, 0.25, 0.3])


def test_a_gap_is_a_gap(record):
    write(record, "load-0", (1.0, 1.0, {"throughput": 1.0}), (4.0, 1.0, {"throughput": 4.0}))
    assert load_series(record, 1).columns["throughput"] == [1.0, None, None, 4.0]


def test_no_series_and_a_damaged_one(record):
    assert load_series(record, 1) is None
    write(record, "load-0", (1.0, 1.0, {"throughput": 1.0}))
    (path,) = record.folder.path.rglob("samples.ndjson")
    path.write_text('{"at": "x"}\n')
    with pytest.raises(StoreError, match="is damaged"):
        load_series(record, 1)


def test_names_by_unit(record):
    assert group_by_unit(record.metrics, ["read_p99", "throughput", "strange"]) == {
        "s": ["read_p99"],
        "1/s": ["throughput"],
    }


def test_events_begin_and_end(record):
    fired = {"trial": 1, "entry": 0, "event": "grow", "asked": 2.0, "began": 2.01}
    record.journal.extend(
        [
            {
                "kind": "event-began",
                "mono": 5.0,
                "wall": 105.0,
                "options": {"service": "ring", "to": 4},
                **fired,
            },
            {"kind": "event-ended", "mono": 8.5, "wall": 108.5, **fired},
            {"kind": "event-began", "mono": 9.0, "wall": 109.0, **fired, "asked": None, "began": 6.0},
            {"kind": "event-began", "mono": 9.0, "wall": 109.0, **fired, "trial": 2},
        ]
    )
    whole, open_ended = list_events(record)[1]
    assert (whole.label, whole.began, whole.ended, whole.wall) == ("grow ring to 4", 5.0, 8.5, 105.0)
    assert whole.timing == "due at 2.00 s, began at 2.01 s of the phase"
    assert (open_ended.ended, open_ended.timing.startswith("when its condition became true")) == (None, True)


def lines_of(event, at, took=None, **options):
    """An event of a trial whose phase began at 100 on the monotonic clock, and at 1000 since 1970."""
    same = {"trial": 1, "entry": at, "event": event, "asked": at, "began": at, "options": options}
    found = [{"kind": "event-began", "mono": 100.0 + at, "wall": 1000.0 + at, **same}]
    if took is not None:
        found.append({"kind": "event-ended", "mono": 100.0 + at + took, "wall": 1000.0 + at + took, **same})
    return found


def test_an_outage_is_one_event_until_what_was_out_is_back(record):
    here, there = {"service": "db", "node": 0}, {"service": "db", "node": 1}
    record.journal.extend(
        [
            *lines_of("kill", 2.0, 0.1, **here),
            *lines_of("kill", 3.0, 0.1, **there),
            *lines_of("grow", 3.5, 1.0, service="db", to=4),
            *lines_of("restart", 5.0, 1.5, **here),
            *lines_of("pause", 7.0, 2.0, **here, length="2s"),
            *lines_of("restart", 9.0, 0.5, **here),
        ]
    )
    assert [(one.label, one.outcome) for one in list_events(record)[1]] == [
        ("kill db node 0, restart", "back after 4.50 s"),
        ("kill db node 1", "not back in this trial"),
        ("grow db to 4", "took 1.00 s"),
        ("pause db node 0", "back after 2.00 s"),
        ("restart db node 0", "back after 0.50 s"),
    ]


def test_a_cut_without_a_length_lasts_until_the_trial_ends(record):
    record.journal.extend(lines_of("cut", 2.0, 0.1, on="db[1]"))
    (cut,) = list_events(record)[1]
    assert (cut.ended, cut.outcome) == (None, "not back in this trial")


def test_charts_of_a_trial_count_from_the_beginning_of_the_phase(record):
    record.journal.extend(lines_of("kill", 2.0, service="db", node=0))
    assert TimeOrigin.of(list_events(record)[1]) == TimeOrigin(1000.0, 100.0)
    assert TimeOrigin.of(()) is None
