"""What every collector must declare, and what its table must hold, whatever a sample says.

A recording is `data/collectors/<name>.ndjson` beside the tests: samples of the collector's first example, a
line each, as a run's own sampler keeps them.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, get_args

import pytest
from pydantic import ValidationError

from steelyard.collectors.base import Collector
from steelyard.controller.machine.sampler import CollectorSource
from steelyard.model.column import CLOCKS, ColumnKind, Sample, find_column
from steelyard.model.command import Endpoint
from steelyard.model.keys.plugin_use import short_name
from steelyard.model.unit import base_unit
from steelyard.spec.bind import bind_collector
from steelyard.store.telemetry import RawSample, sample_line
from steelyard.testing.contract.bench import Bench, with_bench
from steelyard.testing.contract.suite import (
    Contract,
    Parameters,
    check_declaration,
    check_options,
    skip_without,
)

SAMPLES, EVERY = 4, 0.2  # of a recording, seconds between two of them


class CollectorContract(Contract):
    """What every collector must do.

    `absent` has a pattern of the columns of which the machine that was recorded tells nothing, by name.
    """

    kind = "collectors"
    base = Collector
    absent: ClassVar[dict[str, str]] = {}

    @classmethod
    def parameters(cls) -> Parameters:
        """A `name`, an `example`, and one that looks at a host."""
        hosts = [name for name in sorted(cls.names) if cls.find(name).looks_at == "host"]
        return {"name": sorted(cls.names), "example": cls.number_examples(), "host_collector": hosts}

    @classmethod
    def data(cls) -> Path:
        """Where recordings lie: beside the file of the tests."""
        return Path(str(sys.modules[cls.__module__].__file__)).parent / "data" / "collectors"

    @classmethod
    def make(cls, name: str, index: int = 0) -> Collector[Any]:
        """The collector of an example."""
        return bind_collector(name, cls.find(name).examples[index])

    @classmethod
    def read_recording(cls, name: str) -> list[Sample]:
        """The samples that were recorded."""
        path = cls.data() / f"{short_name(name)}.ndjson"
        if not path.exists():
            pytest.fail(f"no recording; make one with: pytest --record -k {short_name(name)}")
        lines = map(json.loads, path.read_text().splitlines())
        return [(line["t"], line["m"], line["raw"]) for line in lines]

    def test_it_says_what_it_records_and_where_that_comes_from(self, name: str) -> None:
        doc = (self.find(name).__doc__ or "").strip()
        check_declaration(self.find(name), 80)
        assert "Source:" in doc
        assert doc.partition("\n")[0].endswith(".")

    def test_every_option_is_described_and_none_is_ignored(self, name: str) -> None:
        kind = self.find(name)
        assert kind.examples, "an example makes the catalogue and these tests"
        check_options(kind.Options, kind.examples[0])
        with pytest.raises(ValidationError, match="too short"):
            kind.Options.model_validate({**kind.examples[0], "every": "10ms"})

    def test_describing_is_pure_and_names_no_file_outside_the_kernels(self, example: tuple[str, int]) -> None:
        collector = self.make(*example)
        endpoint = Endpoint("127.0.0.1", 4711) if collector.looks_at == "service" else None
        assert collector.files() == collector.files()
        assert collector.commands(endpoint) == collector.commands(endpoint)
        assert all(path.startswith(("/proc/", "/sys/")) for path in collector.files())
        assert collector.files() or collector.commands(endpoint), "it reads something"
        for command in collector.commands(endpoint).values():
            assert all(isinstance(word, str) and "\0" not in word for word in command.argv)

    def test_it_reads_this_machine(self, host_collector: str, request: pytest.FixtureRequest) -> None:
        collector = self.make(host_collector)
        skip_without(collector.needs)
        samples = take_samples(collector)
        check_table(collector, samples)
        if request.config.getoption("--record", default=False):
            self.data().mkdir(parents=True, exist_ok=True)
            lines = b"".join(map(sample_line, samples))
            (self.data() / f"{short_name(host_collector)}.ndjson").write_bytes(lines)

    def test_columns_have_a_unit_a_kind_and_a_sentence(self, name: str) -> None:
        for column, meaning in self.make(name).columns(self.read_recording(name)).items():
            assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", column)
            assert base_unit(meaning.unit).unit == meaning.unit
            assert meaning.kind in get_args(ColumnKind)
            assert meaning.about

    def test_what_is_declared_of_a_recording_is_what_is_in_its_table(self, name: str) -> None:
        collector, samples = self.make(name), self.read_recording(name)
        rows, declared = list(collector.rows(samples)), collector.columns(samples)
        assert len(rows) >= 2
        assert [row["t"] for row in rows] == [sample[0] for sample in samples][-len(rows) :]
        assert all(CLOCKS.keys() < row.keys() for row in rows)
        assert all(math.isfinite(value) for row in rows for value in row.values())
        columns = {column for row in rows for column in row} - CLOCKS.keys()
        assert [column for column in columns if not find_column(declared, column)] == []
        lacking = name_families(declared) - name_families(columns)
        absent = re.compile(self.absent.get(name, "(?!)"))
        assert {column for column in lacking if not absent.fullmatch(column)} == set()

    def test_what_is_kept_of_a_sample_gives_the_same_table(self, name: str) -> None:
        collector, samples = self.make(name), self.read_recording(name)
        kept = [(t, m, collector.reduce(raw)) for t, m, raw in samples]
        assert list(collector.rows(kept)) == list(collector.rows(samples))
        assert collector.columns(kept) == collector.columns(samples)

    @pytest.mark.parametrize("harm", ["absent", "empty", "half", "garbage"])
    def test_no_harm_to_a_sample_is_too_odd(self, name: str, harm: str) -> None:
        collector, samples = self.make(name), self.read_recording(name)
        harmed = [
            (t, m, {} if harm == "absent" else {path: _harm(text, harm) for path, text in raw.items()})
            for t, m, raw in samples
        ]
        check_table(collector, [samples[0], *harmed[1:-1], samples[-1]])
        check_table(collector, harmed)


def take_samples(collector: Collector[Any]) -> list[RawSample]:
    """What a collector reads of this machine."""
    samples: list[RawSample] = []

    async def read(made: Bench) -> None:
        source = CollectorSource(collector, made.hosts[0])
        for _ in range(SAMPLES):
            samples.append(RawSample(time.time(), time.monotonic(), await source.take()))
            await asyncio.sleep(EVERY)

    with_bench(read, hosts=1)
    return samples


def check_table(collector: Collector[Any], samples: Sequence[Any]) -> None:
    """A table, whatever the samples hold: of figures, each with a meaning."""
    declared = collector.columns(samples)
    for row in collector.rows([(t, m, collector.reduce(raw)) for t, m, raw in samples]):
        assert all(math.isfinite(value) for value in row.values())
        assert all(find_column(declared, name) for name in row.keys() - CLOCKS.keys())


def name_families(names: Iterable[str]) -> set[str]:
    """Columns, those of devices by their family."""
    return {name.partition(":")[0] for name in names} - CLOCKS.keys()


def _harm(text: str, kind: str) -> str:
    if kind == "empty":
        return ""
    return text[: len(text) // 2] if kind == "half" else bytes(range(256)).decode(errors="replace") * 4
