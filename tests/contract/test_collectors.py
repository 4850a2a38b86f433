"""What every collector must do, run over every collector there is.

A recording is `tests/data/collectors/<name>.ndjson`, samples as the run's own sampler keeps them of its first
example; `about.json` beside it says where each comes from.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.collectors.base import Collector
from steelyard.model.column import CLOCKS, ColumnKind, Sample, find_column
from steelyard.model.command import Endpoint
from steelyard.model.unit import base_unit
from steelyard.plugins import builtin_names
from steelyard.spec.bind import bind_collector, collector_class

DATA = Path(__file__).parents[1] / "data" / "collectors"
NAMES = sorted(builtin_names("collectors"))
CASES = [
    pytest.param(name, index, id=f"{name}-{index}")
    for name in NAMES
    for index in range(len(collector_class(name).examples))
]
ABSENT = {"pressure": re.compile("irq_.*")}
"""Columns of which the machines that were recorded tell nothing."""


def made(name: str, index: int = 0) -> Collector[Any]:
    return bind_collector(name, collector_class(name).examples[index])


def recorded(name: str) -> list[Sample]:
    lines = map(json.loads, (DATA / f"{name}.ndjson").read_text().splitlines())
    return [(line["t"], line["m"], line["raw"]) for line in lines]


def families(names: Iterable[str]) -> set[str]:
    return {name.partition(":")[0] for name in names} - CLOCKS.keys()


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_records_and_where_that_comes_from(name: str) -> None:
    doc = inspect.cleandoc(collector_class(name).__doc__ or "")
    assert len(doc) > 80
    assert "Source:" in doc
    assert doc.partition("\n")[0].endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_described_and_none_is_ignored(name: str) -> None:
    kind = collector_class(name)
    assert kind.examples, "an example makes the catalogue and these tests"
    assert [key for key, field in kind.Options.model_fields.items() if not field.description] == []
    with pytest.raises(ValidationError, match="no_such_option"):
        kind.Options.model_validate({**kind.examples[0], "no_such_option": 1})
    with pytest.raises(ValidationError, match="too short"):
        kind.Options.model_validate({**kind.examples[0], "every": "10ms"})


@pytest.mark.parametrize(("name", "index"), CASES)
def test_describing_is_pure_and_names_no_file_outside_the_kernels(name: str, index: int) -> None:
    collector = made(name, index)
    endpoint = Endpoint("127.0.0.1", 4711) if collector.looks_at == "service" else None
    assert collector.files() == collector.files()
    assert collector.commands(endpoint) == collector.commands(endpoint)
    assert all(path.startswith(("/proc/", "/sys/")) for path in collector.files())
    assert collector.files() or collector.commands(endpoint), "it reads something"
    for command in collector.commands(endpoint).values():
        assert all(isinstance(word, str) and "\0" not in word for word in command.argv)


@pytest.mark.parametrize("name", NAMES)
def test_columns_have_a_unit_a_kind_and_a_sentence(name: str) -> None:
    for column, meaning in made(name).columns(recorded(name)).items():
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", column)
        assert base_unit(meaning.unit).unit == meaning.unit
        assert meaning.kind in get_args(ColumnKind)
        assert meaning.about


@pytest.mark.parametrize("name", NAMES)
def test_what_is_declared_of_a_recording_is_what_is_in_its_table(name: str) -> None:
    collector, samples = made(name), recorded(name)
    rows, declared = list(collector.rows(samples)), collector.columns(samples)
    assert len(rows) >= 2
    assert [row["t"] for row in rows] == [sample[0] for sample in samples][-len(rows) :]
    assert all(CLOCKS.keys() < row.keys() for row in rows)
    assert all(math.isfinite(value) for row in rows for value in row.values())
    columns = {column for row in rows for column in row} - CLOCKS.keys()
    assert [column for column in columns if not find_column(declared, column)] == []
    lacking = families(declared) - families(columns)
    assert {column for column in lacking if not ABSENT[name].fullmatch(column)} == set() if lacking else True


@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_of_a_sample_gives_the_same_table(name: str) -> None:
    collector, samples = made(name), recorded(name)
    kept = [(t, m, collector.reduce(raw)) for t, m, raw in samples]
    assert list(collector.rows(kept)) == list(collector.rows(samples))
    assert collector.columns(kept) == collector.columns(samples)


def harm(text: str, kind: str) -> str:
    if kind == "empty":
        return ""
    return text[: len(text) // 2] if kind == "half" else bytes(range(256)).decode(errors="replace") * 4


@pytest.mark.parametrize("kind", ["absent", "empty", "half", "garbage"])
@pytest.mark.parametrize("name", NAMES)
def test_no_harm_to_a_sample_is_too_odd(name: str, kind: str) -> None:
    collector, samples = made(name), recorded(name)
    harmed = [
        (t, m, {} if kind == "absent" else {path: harm(text, kind) for path, text in raw.items()})
        for t, m, raw in samples
    ]
    check(collector, [samples[0], *harmed[1:-1], samples[-1]])
    check(collector, harmed)


@pytest.mark.parametrize("name", NAMES)
@given(st.data())
def test_no_text_is_too_odd(name: str, data: st.DataObject) -> None:
    samples = recorded(name)
    texts = st.fixed_dictionaries({}, optional=dict.fromkeys(samples[0][2], st.text()))
    t, m, _ = samples[1]
    check(made(name), [samples[0], (t, m, data.draw(texts)), samples[2]])


def check(collector: Collector[Any], samples: list[Sample]) -> None:
    """A table, whatever the samples hold: of figures, each with a meaning."""
    declared: Mapping[str, Any] = collector.columns(samples)
    for row in collector.rows([(t, m, collector.reduce(raw)) for t, m, raw in samples]):
        assert all(math.isfinite(value) for value in row.values())
        assert all(find_column(declared, name) for name in row.keys() - CLOCKS.keys())
