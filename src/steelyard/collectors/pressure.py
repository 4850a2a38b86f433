"""Pressure stall information: how long work waited for CPU, memory, I/O and interrupts.

Source: the kernel's Documentation/accounting/psi.rst, and for control groups admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from pydantic import Field, field_validator

from steelyard.collectors.kit.intervals import iter_intervals, rate_of
from steelyard.plugin.collector import Collector, CollectorOptions, Column, Sample

_RESOURCES = {"cpu": "a CPU", "memory": "memory", "io": "I/O", "irq": "interrupts"}
_GROUP = re.compile(r"(?!.*/\.\.(?:/|$))/[^*\0]*")
_TASKS = {"some": "some task", "full": "all tasks"}
_WINDOWS = {"avg10": "10 s", "avg60": "60 s"}
_LINE = re.compile(
    r"^(some|full) avg10=(\d{1,3}\.\d\d) avg60=(\d{1,3}\.\d\d) avg300=\S+ total=(\d{1,20})$",
    re.MULTILINE | re.ASCII,
)


class PressureOptions(CollectorOptions):
    """Whose pressure, and how often it is read."""

    cgroup: str | None = Field(
        None,
        description="A control group's path below /sys/fs/cgroup, such as /system.slice; inside a container, "
        "/ is its own. Default: the whole machine",
    )

    @field_validator("cgroup")
    @classmethod
    def _check_path(cls, value: str | None) -> str | None:
        if value is not None and not _GROUP.fullmatch(value):
            raise ValueError(f"'{value:.60}' is not a control group's path such as /system.slice")
        return value


class PressureCollector(Collector[PressureOptions]):
    """The share of time in which work waited for a resource, of a machine or of a control group.

    `cpu_some` is the share of each interval in which at least one task waited for a CPU, `memory_full` that
    in which all tasks waited for memory at once, so that nothing got done. They are computed from the
    kernel's totals; `_avg10` and `_avg60` are its own moving averages over 10 and 60 seconds. Interrupts have
    only `irq_full`, from Linux 6.1 on. A kernel without CONFIG_PSI has no such figures.
    Source: the kernel's Documentation/accounting/psi.rst.
    """

    Options = PressureOptions
    examples = ({}, {"cgroup": "/", "every": "500ms"})

    def files(self) -> tuple[str, ...]:
        """One for each resource."""
        return tuple(self._paths().values())

    def columns(self, samples: Iterable[Sample] = ()) -> Mapping[str, Column]:
        """Shares of time; what a kernel does not tell is not in the table."""
        return _COLUMNS

    def rows(self, samples: Iterable[Sample]) -> Iterator[dict[str, float]]:
        """A row for every interval between two samples."""
        return iter_intervals(samples, self._parse, _shares)

    def _paths(self) -> dict[str, str]:
        if self.options.cgroup is None:
            return {name: f"/proc/pressure/{name}" for name in _RESOURCES}
        group = PurePosixPath("/sys/fs/cgroup") / self.options.cgroup.strip("/")
        return {name: str(group / f"{name}.pressure") for name in _RESOURCES}

    def _parse(self, raw: Mapping[str, str]) -> dict[str, float]:
        """Averages as ratios, totals in seconds."""
        figures: dict[str, float] = {}
        for resource, path in self._paths().items():
            for tasks, *averages, total in _LINE.findall(raw.get(path, "")):
                name = f"{resource}_{tasks}"
                figures[name] = int(total) / 1e6
                named = zip(_WINDOWS, averages, strict=True)
                figures |= {f"{name}_{window}": float(average) / 100 for window, average in named}
        return {name: value for name, value in figures.items() if name in _COLUMNS}


def _shares(previous: Mapping[str, float], current: Mapping[str, float], seconds: float) -> dict[str, float]:
    row = {}
    for name, value in current.items():
        share = value if _COLUMNS[name].kind == "gauge" else rate_of(previous, current, name, seconds)
        if share is not None:
            row[name] = min(1.0, share)
    return row


def _describe() -> Iterator[tuple[str, Column]]:
    for resource, words in _RESOURCES.items():
        for tasks, who in _TASKS.items():
            if (resource, tasks) != ("irq", "some"):
                about = f"share of time in which {who} waited for {words}"
                yield f"{resource}_{tasks}", Column("%", about, "rate")
                for window, length in _WINDOWS.items():
                    yield f"{resource}_{tasks}_{window}", Column("%", f"{about}, averaged over {length}")


_COLUMNS = dict(_describe())
