from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.errors import StoreError
from steelyard.model.metric import Mark, Metric
from steelyard.model.trial import Cell
from steelyard.store.layout import SCHEMA, RunFolder, Store
from steelyard.store.reader import RunRecord, glance
from steelyard.store.writer import RunWriter

Line = dict[str, Any]
many = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


def ended(number: int, repetition: int = 1, **more: Any) -> Line:
    """What the journal says of a trial that went well."""
    figures = {"metrics": {"wall": 0.5}, "marks": [], "done": number, "failed": 0}
    named = {"trial": number, "attempt": 1, "repetition": repetition, "parameters": {"n": 1}}
    return {**named, "status": "ok", "seconds": 1.5, **figures, **more}


STARTED = {"run": "x", "experiment": "test", "seed": 7, "done": 0}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return Store(tmp_path).create("test")


def record(folder: RunFolder, *told: tuple[str, Line]) -> RunRecord:
    with RunWriter(folder) as writer:
        for kind, line in told:
            writer.journal.write(kind, **line)
    return RunRecord(folder)


def test_a_trial_is_what_the_journal_says(folder: RunFolder) -> None:
    marks = [{"kind": "disturbed", "reason": "somebody"}]
    more = {"marks": marks, "facts": {"run": {"engine": "x"}}, "message": "", "attempt": 2}
    found = record(folder, ("run-started", STARTED), ("trial-ended", ended(3, 2, **more)))
    (trial,) = found.trials
    assert (trial.number, trial.attempt, trial.facts) == (3, 2, {"run": {"engine": "x"}})
    assert trial.result.trial.key == ("n=1", 2)
    assert (trial.result.status, trial.result.seconds, trial.result.metrics) == ("ok", 1.5, {"wall": 0.5})
    assert trial.marks == (Mark("disturbed", "somebody"),)
    assert not trial.result.is_poolable
    assert trial.started == pytest.approx(found.journal[1]["wall"] - 1.5)
    assert [result.trial.key for result in found.results] == [("n=1", 2)]


def test_only_the_last_word_on_a_trial_counts(folder: RunFolder) -> None:
    """A failure that was retried is history; one that was made again after a resume is replaced."""
    found = record(
        folder,
        ("run-started", STARTED),
        ("trial-ended", ended(1, status="failed", category="crashed", retried=True)),
        ("trial-ended", ended(2, status="failed", category="store-full")),
        ("trial-ended", ended(3, repetition=2)),
        ("trial-ended", ended(4)),
    )
    assert [(trial.number, trial.result.status) for trial in found.trials] == [(4, "ok"), (3, "ok")]


def test_numbers_go_on_after_the_highest_that_was_given(folder: RunFolder) -> None:
    assert record(folder, ("run-started", STARTED)).last_number == 0
    assert record(folder, ("trial-started", {"trial": 4}), ("trial-started", {"trial": 3})).last_number == 4


def test_warnings_are_told_once(folder: RunFolder) -> None:
    told = [("warning", {"text": text}) for text in ("b", "a", "b")]
    assert record(folder, *told).warnings == ["b", "a"]


def test_documents_are_read_for_detail(folder: RunFolder) -> None:
    metric = Metric("wall", "s", "lower", "elapsed time")
    with RunWriter(folder) as writer:
        writer.write_text(folder.experiment, "experiment: test")
        content = {"metrics": [dataclasses.asdict(metric)], "cells": [{"n": 1}, {"n": "1"}]}
        writer.write_document(folder.design, content)
        writer.make_directory(folder.trial(1))
        writer.write_document(folder.trial(1) / "trial.json", {"trial": 1})
        writer.write_document(
            folder.trial(1) / "metrics.json", {"histograms": {"latency": {"0.001": 5, "0.1": 2}}}
        )
    found = RunRecord(folder)
    assert found.experiment_text == "experiment: test\n"
    assert found.metrics == {"wall": metric}
    assert found.cells == (Cell({"n": 1}), Cell({"n": "1"}))
    assert found.environment == {}
    assert found.trial_document(1)["trial"] == 1
    assert found.trial_document(2) == {}
    assert found.histograms(1) == {"latency": {0.001: 5, 0.1: 2}}
    assert found.histograms(2) == {}
    assert found.telemetry(1) == {}


def test_a_folder_without_a_journal_is_no_run(folder: RunFolder) -> None:
    with pytest.raises(StoreError, match="has no journal, so it is not a run"):
        RunRecord(folder)
    assert glance(folder).state == "died"


def test_a_run_that_never_began_has_no_seed(folder: RunFolder) -> None:
    found = record(folder)
    assert (found.trials, found.warnings, found.last_number) == ((), [], 0)
    with pytest.raises(StoreError, match=r"journal\.ndjson is damaged"):
        _ = found.seed
    with pytest.raises(StoreError, match=r"cannot read .*design\.json: No such file"):
        _ = found.design


def test_a_newer_schema_is_told(folder: RunFolder) -> None:
    found = record(folder, ("run-started", STARTED))
    folder.design.write_text(json.dumps({"schema": SCHEMA + 1}))
    with pytest.raises(
        StoreError, match=f"was written by a newer version of Steelyard .schema {SCHEMA + 1}"
    ) as caught:
        _ = found.cells
    assert caught.value.hint == "update Steelyard to read it"


# Strangers' files

PARTS: dict[str, Callable[[RunRecord], object]] = {
    "trials": lambda found: found.trials,
    "results": lambda found: list(found.results),
    "warnings": lambda found: found.warnings,
    "seed": lambda found: found.seed,
    "last_number": lambda found: found.last_number,
    "metrics": lambda found: found.metrics,
    "cells": lambda found: [cell.key for cell in found.cells],
    "environment": lambda found: found.environment,
    "histograms": lambda found: found.histograms(1),
    "trial_document": lambda found: found.trial_document(1),
    "experiment_text": lambda found: found.experiment_text,
}


def look_at(folder: RunFolder) -> None:
    """Everything is read, or refused with StoreError."""
    glance(folder)
    for part in PARTS.values():
        with suppress(StoreError):
            part(RunRecord(folder))


def spoilt(folder: RunFolder) -> dict[str, Path]:
    folder.trial(1).mkdir(parents=True, exist_ok=True)
    folder.journal.touch()
    paths = [folder.journal, folder.design, folder.environment, folder.trial(1) / "metrics.json"]
    return {path.name: path for path in (*paths, folder.trial(1) / "trial.json", folder.experiment)}


FILES = ["journal.ndjson", "design.json", "environment.json", "metrics.json", "trial.json", "experiment.yaml"]


@many
@given(name=st.sampled_from(FILES), content=st.binary(max_size=100))
def test_any_bytes_are_read_or_refused(name: str, content: bytes, folder: RunFolder) -> None:
    spoilt(folder)[name].write_bytes(content)
    look_at(folder)


@many
@given(
    name=st.sampled_from(FILES[1:5]),
    content=st.dictionaries(
        st.sampled_from(["schema", "cells", "metrics", "histograms", "require"]), anything, max_size=4
    )
    | anything,
)
def test_any_document_is_read_or_refused(name: str, content: object, folder: RunFolder) -> None:
    spoilt(folder)[name].write_text(json.dumps(content))
    look_at(folder)


KINDS = ["run-started", "trial-started", "trial-ended", "warning", "run-ended", "scratch", "unheard-of"]
lines = st.lists(
    st.builds(
        lambda kind, base, odd: {**base, "kind": kind, **odd},
        st.sampled_from(KINDS),
        st.sampled_from([{}, STARTED, {**ended(1), "wall": 1.0}]),
        st.dictionaries(
            st.sampled_from([*ended(1), *STARTED, "wall", "state", "category", "facts"]), anything
        ),
    ),
    max_size=4,
)


@settings(many, max_examples=300)
@given(told=lines)
def test_any_lines_are_read_or_refused(told: list[Line], folder: RunFolder) -> None:
    spoilt(folder)["journal.ndjson"].write_text("".join(json.dumps(line) + "\n" for line in told))
    look_at(folder)


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 10_000, '{"schema": 1e400}', '{"schema": "new"}'])
def test_hostile_documents_are_refused(text: str, folder: RunFolder) -> None:
    for name, path in spoilt(folder).items():
        if name.endswith(".json"):
            path.write_text(text)
    with pytest.raises(StoreError, match="is damaged"):
        _ = RunRecord(folder).design
    look_at(folder)


# At a glance


def glanced(folder: RunFolder, *told: tuple[str, Line]) -> tuple[str, int, int]:
    record(folder, *told)
    found = glance(folder)
    assert (found.run, found.title) == (folder.id, "test")
    assert found.started > 1.7e9
    return found.state, found.trials, found.failed


def test_a_glance_tells_how_it_ended(folder: RunFolder) -> None:
    assert glanced(folder, ("run-started", STARTED)) == ("died", 0, 0)
    assert glanced(folder, ("trial-ended", ended(2, failed=1))) == ("died", 2, 1)
    for state in ("interrupted", "failed", "complete"):
        end = ("run-ended", {"state": state, "done": 5, "failed": 2})
        assert glanced(folder, end) == (state, 5, 2)
    assert glanced(folder, ("run-resumed", {"done": 5})) == ("died", 5, 0)
    with RunWriter(folder):
        assert glance(folder).state == "running"
    assert glanced(folder, ("run-ended", {"state": "odd", "done": 5})) == ("died", 5, 0)


def test_who_ends_or_begins_while_it_is_read_has_not_died(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its journal is read before the other thing happens, its lock is looked at after it."""
    from steelyard.store import reader

    read_ends, writers = reader._read_ends, [RunWriter(folder)]

    def changes_meanwhile(path: Path) -> Any:
        ends = read_ends(path)
        if writers:
            with writers.pop() as writer:
                writer.journal.write("run-ended", state="complete", done=5)
        else:
            writers.append(RunWriter(folder))
        return ends

    writers[0].journal.write("run-started", **STARTED)
    monkeypatch.setattr(reader, "_read_ends", changes_meanwhile)
    assert glance(folder).state == "running", "it was when we began to look"
    assert not reader.is_live(folder)
    folder.journal.unlink()
    assert glance(folder).state == "running", "it is by now"
    with writers.pop():
        assert reader.is_live(folder)


def test_a_glance_finds_a_count_that_stands_far_from_the_end(folder: RunFolder) -> None:
    """Facts of a trial may be long, and warnings many."""
    long = ended(9, facts={"run": {"said": "x" * 50_000}})
    many_warnings = [("warning", {"text": f"{number} " * 100}) for number in range(100)]
    assert glanced(folder, ("run-started", STARTED), ("trial-ended", long), *many_warnings) == ("died", 9, 0)


def test_a_glance_does_not_read_the_middle(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    told = [("trial-ended", ended(number)) for number in range(5000)]
    record(folder, ("run-started", STARTED), *told, ("run-ended", {"state": "complete", "done": 5000}))
    size, read = folder.journal.stat().st_size, []
    from steelyard.store import reader

    parse = reader.parse_line
    monkeypatch.setattr(reader, "parse_line", lambda raw: read.append(len(raw)) or parse(raw))
    assert glance(folder).trials == 5000
    assert sum(read) < size / 50


PLANTED = [
    "design.json",
    "environment.json",
    "experiment.yaml",
    "trials/1/metrics.json",
    "trials/1/trial.json",
]
SERIES = "trials/1/host-0/run/samples.ndjson"


@pytest.mark.parametrize("kind", ["fifo", "link", "endless", "hole"])
@pytest.mark.parametrize("name", [*PLANTED, SERIES])
def test_a_planted_document_is_refused_at_once(
    kind: str, name: str, folder: RunFolder, tmp_path: Path
) -> None:
    found = record(folder, ("run-started", STARTED), ("trial-ended", ended(1)))
    path = folder.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    (tmp_path / "secret").write_text("{}")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "hole":
        path.touch()
        os.truncate(path, 1 << 40)
    else:
        path.symlink_to(tmp_path / "secret" if kind == "link" else "/dev/zero")
    looks = {**PARTS, "design": lambda found: found.design, "series": lambda found: list(found.series(1))}
    told = []
    for look in looks.values():
        try:
            look(found)
        except StoreError as error:
            told.append(error.message)
    assert any(re.search(r"cannot read .*(link|regular|larger)", message) for message in told), told


@pytest.mark.parametrize("name", ["control", "journal"])
def test_a_planted_fifo_keeps_no_list_waiting(name: str, folder: RunFolder) -> None:
    record(folder, ("run-started", STARTED))
    path = getattr(folder, name)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert glance(folder).state == "died"


def test_disturbed_trials_count_as_whoever_looks_says(tmp_path):
    marks = [
        ({"kind": "disturbed", "reason": "steal"}, {"include"}),
        ({"kind": "disturbed", "reason": "steal", "counted": True}, {"include", None}),
        ({"kind": "fallback", "reason": "buffered"}, set()),
    ]
    for number, (mark, counting) in enumerate(marks):
        folder = Store(tmp_path).create(f"run{number}")
        with RunWriter(folder) as writer:
            line = {
                "trial": 1,
                "attempt": 1,
                "repetition": 1,
                "parameters": {},
                "status": "ok",
                "seconds": 1.0,
            }
            writer.journal.write("trial-ended", **line, marks=[mark])
        for disturbed in ("include", "exclude", None):
            (trial,) = RunRecord(folder, disturbed=disturbed).trials
            assert trial.result.is_poolable is (disturbed in counting), (mark, disturbed)
            assert [one.reason for one in trial.marks] == [mark["reason"]], "a mark stays"
