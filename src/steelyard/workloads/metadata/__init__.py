"""`use: metadata`: how fast a file system handles names."""

from __future__ import annotations

import json
from typing import Self

from pydantic import Field, model_validator

from steelyard.plugin import (
    QUANTILES,
    Command,
    Metric,
    Output,
    ParseFailure,
    Phase,
    Place,
    Reading,
    ScratchOrAbsolute,
    Size,
    latency_metrics,
)
from steelyard.plugin.workload import Histogram, Workload, WorkloadOptions
from steelyard.workloads.kit.load.options import LOAD
from steelyard.workloads.metadata.output import read_summary

_OPERATIONS = {
    "create": "files created, with their content",
    "stat": "files examined with lstat",
    "rename": "files renamed within their directory",
    "list": "directory entries listed",
    "remove": "files removed",
}
_LARGEST = 1 << 20
_MOST_FILES = 100_000_000


class MetadataOptions(WorkloadOptions):
    """The tree, and who works on it."""

    directory: ScratchOrAbsolute = Field(
        "scratch",
        description="Where the file system under test is: `scratch` (the run's own, on each host); an "
        "absolute path, in which the run makes and removes its own; or a service that is a file system.",
    )
    workers: int = Field(
        1, ge=1, le=1024, description="Workers in each copy or rank; each works on files one after the other."
    )
    files: int = Field(1000, ge=1, le=10_000_000, description="Files of each worker.")
    directories: int = Field(
        10, ge=1, le=100_000, description="Directories that a worker's files are spread over."
    )
    depth: int = Field(1, ge=1, le=64, description="How deep these directories lie below each other.")
    file_size: Size = Field(Size(0), description="Bytes written to each new file, at most 1MiB.")
    shared: bool = Field(
        False, description="Let all workers of a copy, and all ranks, use the same directories."
    )
    shift: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="Examine, rename, list and remove the files of the worker so many numbers further on, to "
        "see past caches of the client that created them. Ranks count on: give the workers of a whole host.",
    )

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if self.file_size > _LARGEST:
            raise ValueError(f"file_size: {self.file_size} is greater than 1MiB; measure data with fio")
        if self.files * self.workers > _MOST_FILES:
            raise ValueError(f"files: {self.files} for {self.workers} workers are more than {_MOST_FILES}")
        if self.directories > self.files:
            raise ValueError(f"directories: {self.directories} are more than files: {self.files}")
        return self


class Metadata(Workload[MetadataOptions]):
    """Rates and latencies of operations on names: create, stat, rename, list and remove many small files.

    **Measures** for each operation a rate over all workers, from their common start until the last one is
    done (`create_rate` …), and the latencies of single calls (`create_latency` …). A creation is open, write
    and close. `list_rate` counts entries, `list_latency` is that of a whole directory. Latencies are told
    apart to 1 %.

    **Source**: the method of mdtest (https://github.com/hpc/ior), which sites have beside IOR; the program
    is Steelyard's own and is brought to the hosts, so that names are also measured where mdtest is missing.

    **How to read it.** Each operation is a phase, and copies start a phase together, so their rates add up.
    With `ranks:` the launcher starts the ranks, which share one tree; their rates add up too, which is too
    much if ranks start apart: make `files` large enough for seconds. A client that created a file often
    knows its attributes: `shift` makes each worker ask for the files of another (mdtest's -N); it reaches
    other hosts with `ranks:` and a shared `directory`. Steelyard's own cost is below a microsecond per
    operation. Nothing is synchronised to disk: journals decide when entries last.
    """

    Options = MetadataOptions
    needs = (LOAD,)
    examples = (
        {"files": 200, "directories": 2},
        {"files": 100, "workers": 2, "shared": True, "shift": 1, "file_size": "4KiB", "depth": 3},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """A rate and latencies of each operation."""
        rates = (Metric(f"{name}_rate", "1/s", "higher", about) for name, about in _OPERATIONS.items())
        latencies = (
            metric
            for name in _OPERATIONS
            for metric in latency_metrics(f"{name}_latency", f"time of one {name}")
        )
        return (*rates, *latencies)

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """The directories, then each operation; copies wait for each other between phases."""
        prepare = Phase("prepare", self._command(place, "prepare"), measured=False)
        return (prepare, *(Phase(name, self._command(place, name)) for name in _OPERATIONS))

    def _command(self, place: Place, operation: str) -> Command:
        options = self.options
        job = {
            "operation": operation,
            "size": int(options.file_size),
            **options.model_dump(include={"workers", "files", "directories", "depth", "shared", "shift"}),
        }
        return Command(LOAD.argv("metadata", json.dumps(job)), cwd=place.scratch)

    def parse(self, phase: str, output: Output) -> Reading:
        """All ranks' summaries. Raises ParseFailure, also when not every file was worked on."""
        summary = read_summary(output.stdout, phase, self.options.workers)
        expected = self.options.files * self.options.workers * summary.ranks
        if phase != "list" and summary.items != expected:
            raise ParseFailure(f"{summary.items} files were worked on in '{phase}', not {expected}")
        facts = {"ranks": summary.ranks, f"{phase}_items": summary.items}
        histogram = Histogram.of(summary.latency)
        name = f"{phase}_latency"
        quantiles = {f"{name}_{label}": histogram.quantile(share) for label, share in QUANTILES.items()}
        return Reading({f"{phase}_rate": summary.rate, **quantiles}, {name: summary.latency}, facts=facts)

    def directory(self) -> str:
        """The option of that name."""
        return self.options.directory

    def disk(self) -> int:
        """Content in whole blocks, with an inode for each file."""
        blocks = -(-int(self.options.file_size) // 4096) * 4096
        return self.options.files * self.options.workers * (blocks + 1024)

    def seconds(self) -> float | None:
        """About 50 us for the five operations on a file of a local file system."""
        return self.options.files * self.options.workers * 5e-5
