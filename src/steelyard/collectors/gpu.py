"""What NVIDIA's GPUs of a host do, as nvidia-smi tells.

Source: nvidia-smi(1) and `nvidia-smi --help-query-gpu`, which says what each property means. No machine of
ours has a GPU: the parser is tested on published output (tests/data/collectors/about.json), and the collector
as a whole with a program that plays nvidia-smi.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from steelyard.plugin import Command, Endpoint, Tool
from steelyard.plugin.collector import Collector, CollectorOptions, Column, Sample

_TEXT = "nvidia-smi"
_MOST_TEXT, _MOST_DEVICES = 1 << 16, 256


class Property(NamedTuple):
    """A property of the query, the column that it becomes, and what turns its figures into the column's."""

    query: str
    column: str
    divisor: float
    meaning: Column


_PROPERTIES = (
    Property(
        "utilization.gpu", "gpu_busy", 100.0, Column("%", "share of time in which a kernel was running")
    ),
    Property(
        "utilization.memory",
        "gpu_memory_busy",
        100.0,
        Column("%", "share of time in which device memory was read or written"),
    ),
    Property("memory.used", "gpu_memory_used", 2.0**-20, Column("B", "device memory that programs hold")),
    Property("power.draw", "gpu_power", 1.0, Column("W", "power that the board draws")),
    Property("temperature.gpu", "gpu_temperature", 1.0, Column("degC", "temperature of the core, in °C")),
    Property("clocks.sm", "gpu_clock", 1.0, Column("MHz", "clock of the multiprocessors")),
    Property("clocks.mem", "gpu_memory_clock", 1.0, Column("MHz", "clock of the device memory")),
)


class GpuCollector(Collector[CollectorOptions]):
    """Load, memory, power, temperature and clocks of each NVIDIA GPU of a host.

    `gpu_busy:0` is the share of time in which a kernel was running on the GPU of index 0. The driver averages
    the shares over 1/6 s to 1 s, depending on the product, so a shorter `every` tells no more; one kernel
    that leaves most of the chip idle counts as busy, so read the power beside it. What a product does not
    report is left out.
    Source: `nvidia-smi --help-query-gpu`.
    """

    Options = CollectorOptions
    needs = (Tool("nvidia-smi"),)
    examples = ({}, {"every": "500ms"})

    def commands(self, endpoint: Endpoint | None) -> Mapping[str, Command]:
        """One query for all devices."""
        query = ",".join(["index", *(each.query for each in _PROPERTIES)])
        return {_TEXT: Command(("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"))}

    def columns(self, samples: Iterable[Sample] = ()) -> Mapping[str, Column]:
        """The same for every device."""
        return {each.column: each.meaning for each in _PROPERTIES}

    def rows(self, samples: Iterable[Sample]) -> Iterator[dict[str, float]]:
        """A row for every sample."""
        for wall, mono, raw in samples:
            if figures := dict(_parse(raw.get(_TEXT, ""))):
                yield {"t": wall, "m": mono, **figures}


def _parse(text: str) -> Iterator[tuple[str, float]]:
    """The figures of all devices; a line that is no device, such as a warning, is left out."""
    for line in text[:_MOST_TEXT].splitlines()[:_MOST_DEVICES]:
        index, *fields = (field.strip() for field in line.split(","))
        if len(fields) != len(_PROPERTIES) or not (index.isascii() and index.isdigit() and len(index) < 4):
            continue
        for each, field in zip(_PROPERTIES, fields, strict=True):
            figure = _number(field)
            if figure is not None:
                yield f"{each.column}:{int(index)}", figure / each.divisor


def _number(field: str) -> float | None:
    """A figure; `[N/A]`, `[Not Supported]` and `[Unknown Error]` are none."""
    try:
        value = float(field) if "_" not in field else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) < 1e12 else None
