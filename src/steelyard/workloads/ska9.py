"""`use: ska9`: concurrency."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from steelyard.plugin import Phase, Place, Size
from steelyard.workloads.kit.fio.job import Settings, fio_command
from steelyard.workloads.kit.fio.reading import FioFigures
from steelyard.workloads.kit.fio.workload import FioWorkload
from steelyard.workloads.kit.ska import MIB, DatasetOptions
from steelyard.workloads.kit.ska_files import FileSet, prepare


class Ska9Options(DatasetOptions):
    """Large sequential writes and reads by many processes."""

    operation: Literal["write", "read", "both"] = Field(
        "both", description="What to measure; `both`: first writes, then reads of the same files."
    )
    processes: int = Field(10, ge=1, le=4096, description="Number of processes that do I/O at the same time.")
    outstanding: int = Field(2, ge=1, le=65536, description="Number of outstanding I/Os in each process.")
    files: int = Field(3, ge=1, le=65536, description="Number of files of each process, used in turn.")
    max_file_size: Size = Field(Size(20 * MIB), description="Size of each file, in bytes.")

    def operations(self) -> tuple[str, ...]:
        """What is measured, in order."""
        return ("write", "read") if self.operation == "both" else (self.operation,)


class Ska9(FioWorkload[Ska9Options]):
    """SKA9, concurrency: does throughput grow with the number of I/Os in flight, and where does it stop?

    **Measures** large sequential writes, then large sequential reads, by `processes` separate processes that
    each keep `outstanding` I/Os in their own files: `write_…` and `read_…` bandwidth, iops and latency over
    all processes, and the CPU time of each phase.

    **Source**: BigStorage D1.2 (2017), "SKAbench: SKA9 Concurrency". Its example call (30, 20M, 20K, 2, 10)
    is not explained; it is interpreted here as 30 files of 20 MB in total, 2 outstanding, 10 processes. Its
    fio file starts writes and reads together; here they run one after the other.

    **How to read it.** Vary `processes` and `outstanding`: concurrency is their product. Where bandwidth
    levels off while latency grows in proportion, the store is saturated; where it falls, there is contention.
    With more processes than cores, the latencies include scheduling.
    """

    Options = Ska9Options
    covers = ("SKA9",)
    examples = (
        {"processes": 2, "outstanding": 4, "files": 1, "max_file_size": "2MiB", "block": "64KiB"}
        | {"duration": "200ms"},
        {"operation": "read", "processes": 2, "files": 2, "max_file_size": "8MiB", "block": "64KiB"},
    )

    def figures(self) -> Mapping[str, FioFigures]:
        """Writes and reads, as far as they are measured."""
        return {way: FioFigures((way,), cpu=f"{way}_") for way in self.options.operations()}

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """Write, or lay out unmeasured; read, for which fio drops what lies in the host's cache."""
        options, files = self.options, self._files()
        write = self._stage(place, "write", {**options.write_settings(), **files.settings()})
        read = self._stage(
            place, "read", {"rw": "read", "bs": int(options.block), **files.settings(known=True)}
        )
        if options.operation == "write":
            return (write,)
        if options.operation == "read":
            return (prepare(place, files), read)
        return (write, read)

    def _files(self) -> FileSet:
        return self.options.dataset(processes=self.options.processes)

    def _stage(self, place: Place, name: str, job: Settings) -> Phase:
        options = self.options
        shared = {**options.queue_settings(options.outstanding), **options.timing_settings(), "thread": False}
        return Phase(name, fio_command(place, name, shared, {name: {**job, "numjobs": options.processes}}))

    def disk(self) -> int:
        """The files of all processes at their largest."""
        return self._files().total_bytes()

    def seconds(self) -> float | None:
        """The durations, if one is given."""
        return self.options.estimate_seconds(
            len(self.options.operations()), 1 if self.options.operation == "read" else 0
        )
