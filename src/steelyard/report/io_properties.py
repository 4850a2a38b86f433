"""`io_properties.yaml`, which tells Seastar what a disk can do, from a run of the workload `iotune`.

The format is that of Seastar's doc/io-properties-file.md. Its four figures are taken where more parallel
requests bring no more: I/Os per second of random requests, and bandwidth of sequential ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from steelyard.analysis.findings import Findings
from steelyard.analysis.machines import read_fact
from steelyard.analysis.summary import CellSummary
from steelyard.errors import UsageError
from steelyard.model.trial import Cell, show_level
from steelyard.printable import make_one_line
from steelyard.report.files import write_text
from steelyard.store.reader import RunRecord

if TYPE_CHECKING:  # most runs have no knee
    from steelyard.analysis.knee import KneeCurve, KneeStudy

NAME = "io_properties.yaml"
WORKLOAD = "iotune"
_FIGURES = {
    "read_iops": ("read", "random", "iops"),
    "read_bandwidth": ("read", "sequential", "bandwidth"),
    "write_iops": ("write", "random", "iops"),
    "write_bandwidth": ("write", "sequential", "bandwidth"),
}
_DEFAULTS = {"direction": "read", "pattern": "random", "directory": "scratch"}


def has_disk_figures(record: RunRecord) -> bool:
    """Whether a run measured a disk for Seastar."""
    return any(part.get("use") == WORKLOAD for part in record.design.get("workload") or ())


def write_io_properties(findings: Findings, path: Path) -> Path:
    """Write the file. Raises UsageError where the run lacks what it needs."""
    record = findings.record
    if not has_disk_figures(record):
        raise UsageError(
            f"{record.id} did not measure with {WORKLOAD}",
            hint="`steelyard run examples/iotune.yaml` measures what io_properties.yaml holds",
        )
    figures = _read_figures(findings)
    lines = [
        f"# Measured by Steelyard, run {record.id}.",
        *(f"# {make_one_line(note)}" for note in _describe_knees(findings)),
        "disks:",
        f"  - mountpoint: {json.dumps(_find_mount(record))}",
        *(f"    {name}: {figure}" for name, figure in figures.items()),
    ]
    return write_text(path, "\n".join(lines) + "\n")


def _read_figures(findings: Findings) -> dict[str, int]:
    cells = _select_cells(findings)
    figures = {
        name: _best(findings.record, cells, direction, pattern, metric)
        for name, (direction, pattern, metric) in _FIGURES.items()
    }
    lacking = [
        f"{_FIGURES[name][1]} {_FIGURES[name][0]}s" for name, figure in figures.items() if figure is None
    ]
    if lacking:
        raise UsageError(
            f"no {NAME}: {findings.record.id} has no figures of {', '.join(lacking)}",
            hint="measure direction: [read, write] and pattern: [random, sequential]",
        )
    return {name: figure for name, figure in figures.items() if figure is not None}


def _best(
    record: RunRecord, cells: list[CellSummary], direction: str, pattern: str, metric: str
) -> int | None:
    """The highest median among those cells; whole, as Seastar reads it."""
    medians = [
        figure.summary.median
        for cell in cells
        if (_option(record, cell.cell, "direction"), _option(record, cell.cell, "pattern"))
        == (direction, pattern)
        if (figure := cell.metrics.get(metric)) and figure.summary
    ]
    return round(max(medians)) if medians else None


def _select_cells(findings: Findings) -> list[CellSummary]:
    """Those at the knees; all, where no knee was searched for."""
    at_knees = {curve.levels[_settled_position(curve)].cell.key for _, curve in _curves(findings)}
    return [cell for cell in findings.summary.cells if not at_knees or cell.cell.key in at_knees]


def _settled_position(curve: KneeCurve) -> int:
    """The position of the level that surely no later one beats; without a knee, of the best."""
    if curve.knee:
        return curve.knee.last
    return max(range(len(curve.levels)), key=lambda at: curve.levels[at].figure.median)


def _curves(findings: Findings) -> Iterator[tuple[KneeStudy, KneeCurve]]:
    """Those of the search alone: other knees may have been derived beside it."""
    from steelyard.analysis.knee import KneeStudy

    metric = (findings.record.design.get("find") or {}).get("metric")
    for study in findings.derived.results:
        if isinstance(study, KneeStudy) and study.metric.name == metric:
            yield from ((study, curve) for curve in study.curves if curve.levels)


def _describe_knees(findings: Findings) -> list[str]:
    return list(dict.fromkeys(study.sentence(curve) for study, curve in _curves(findings)))


def _option(record: RunRecord, cell: Cell, name: str) -> str:
    """What an option of the workload was in a cell, where it is a word or a parameter's level."""
    part = next(part for part in record.design["workload"] if part.get("use") == WORKLOAD)
    word = str((part.get("options") or {}).get(name, _DEFAULTS[name]))
    reference = re.fullmatch(r"\$\{(\w+)\}", word)
    return show_level(cell.parameters.get(reference[1])) if reference else word


def _find_mount(record: RunRecord) -> str:
    """The mount point of the disk that was measured. Raises UsageError where there are several, or none."""
    hosts = record.environment.get("hosts") or ()
    directories = {_option(record, cell, "directory") for cell in record.cells}
    if len(hosts) > 1 or len(directories) != 1:
        count = f"{len(hosts)} hosts" if len(hosts) > 1 else f"{len(directories)} directories"
        raise UsageError(
            f"no {NAME}: {record.id} measured on {count}", hint="measure one disk of one host in a run"
        )
    mount = _look_up(record.environment, directories.pop())
    if mount is None:
        raise UsageError(f"no {NAME}: {record.id} did not record where the disk is mounted")
    return mount


def _look_up(environment: Mapping[str, Any], directory: str) -> str | None:
    if directory == "scratch":
        mount = read_fact(environment, "scratch", "mount")
        return mount if isinstance(mount, str) else None
    listed = environment.get("mounts")
    mounts = [str(entry.get("mount")) for entry in listed] if isinstance(listed, list) else []
    around = [mount for mount in mounts if PurePosixPath(directory).is_relative_to(mount)]
    return max(around, key=len, default=None)
