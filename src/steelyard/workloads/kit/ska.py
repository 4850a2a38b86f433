"""What the SKAbench workloads share: options, file sets, and the phases around a measured one.

SKAbench is defined in "Benchmarks defined & tested", deliverable D1.2 of the project BigStorage
(MSCA-ITN-2014-ETN-642963), 2017, in its part on the Square Kilometre Array. Its assumptions, and what
became of them here:

- *One process with many streams*: one fio job, started as a thread, keeps all I/Os outstanding with libaio.
- *Applications manage their own cache*: direct I/O. With `direct: false` libaio cannot keep more than one
  I/O outstanding, which marks the trial; use `engine: io_uring`, or `outstanding: 1`. Buffered writes end
  with an fsync inside the measured time, because data in memory is not stored yet.
- *4 MB blocks for large files, 4 KB for small ones*: 4 MiB and 4 KiB, as fio reads `4M` and `4K`.
- *File sizes from a range*: the document lets fio draw each file's size between 4 MB and a maximum. A draw
  may hold fewer blocks than I/Os are to be outstanding (as even the largest does in its own examples: one
  file of 1 GB, 1000 outstanding), and differs between repetitions. Here every file has `max_file_size`;
  with `min_file_size` the sizes are drawn, and already the smallest draw must hold enough blocks.

Finished I/Os are collected all at once (`iodepth_batch_complete_max`), so that the achieved depth can be
judged (`kit.fio.depth`). A device takes no more I/Os at a time than its request queue holds; where a queue of
256 requests splits each 4 MiB into four, about 64 are really outstanding, and a trial that asked for 256 is
marked. An outstanding I/O costs its block in memory: 256 times 4 MiB are 1 GiB.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.units import Duration, Size
from steelyard.workloads.kit.fio.job import Settings
from steelyard.workloads.kit.fio.workload import FioOptions
from steelyard.workloads.kit.ska_files import FileSet

KIB, MIB, GIB = 2**10, 2**20, 2**30
START = 0.35  # seconds that an fio command takes beside its I/O, about
_SECTOR = 512


class SkaOptions(FioOptions):
    """Options of every SKA workload that keeps I/Os outstanding."""

    engine: Literal["libaio", "io_uring", "posixaio", "psync"] = Field(
        "libaio", description="fio's I/O engine. psync keeps one I/O outstanding, whatever `outstanding` is."
    )
    direct: bool = Field(True, description="Bypass the host's cache (O_DIRECT), as the source assumes.")
    block: Size = Field(Size(4 * MIB), description="Size of one I/O on large files, in bytes.")

    def queue_settings(self, outstanding: int) -> Settings:
        """fio options for I/O with so many outstanding."""
        return {
            "thread": True,
            "ioengine": self.engine,
            "direct": self.direct,
            "iodepth": outstanding,
            "iodepth_batch_complete_max": outstanding,
        }

    def write_settings(self) -> Settings:
        """fio options for large sequential writes."""
        return {"rw": "write", "bs": int(self.block), "end_fsync": not self.direct}

    def check(self, outstanding: int, *sets: FileSet) -> None:
        """Raises ValueError for a block or depth that cannot be, or files too small for the depth."""
        if self.engine == "io_uring" and outstanding & (outstanding - 1):
            made = 1 << outstanding.bit_length()
            raise ValueError(
                f"outstanding: fio's io_uring rounds {outstanding} to {made}; use a power of two"
            )
        for files in sets:
            if self.direct and files.block % _SECTOR:
                raise ValueError(
                    f"a block of {files.block} bytes is not a multiple of 512, as direct I/O needs"
                )
            files.check(outstanding)


class TimedOptions(SkaOptions):
    """SKA options of workloads that can run for a time instead of through their data once."""

    duration: Duration | None = Field(
        None,
        description="Measure for this long, in seconds, processing the files repeatedly. "
        "Default: until all data has been moved once.",
    )

    def timing_settings(self) -> Settings:
        """fio options for the duration."""
        if self.duration is None:
            return {}
        return {"time_based": True, "runtime": f"{round(self.duration * 1000)}ms"}

    def estimate_seconds(self, measured: int, others: int = 0) -> float | None:
        """Estimated seconds of so many measured and other phases; unknown if the data decides."""
        return None if self.duration is None else measured * (self.duration + START) + others * START

    @model_validator(mode="after")
    def _check_duration(self) -> Self:
        if self.duration is not None and not 0.01 <= self.duration <= 30 * 86400:
            raise ValueError(f"duration: {self.duration} is not between 10ms and 30d")
        return self


class DatasetOptions(TimedOptions):
    """Options of workloads on one set of large files."""

    outstanding: int = Field(256, ge=1, le=65536, description="Number of I/Os outstanding, over all files.")
    files: int = Field(1, ge=1, le=65536, description="Number of files, used in turn.")
    max_file_size: Size = Field(Size(GIB), description="Size of each file, in bytes.")
    min_file_size: Size | None = Field(
        None, description="If given, each file's size is random between this and max_file_size, in bytes."
    )

    def dataset(self, *, block: int = 0, processes: int = 1) -> FileSet:
        """The files, for I/O in a block (default: the large one)."""
        size = self.max_file_size
        return FileSet("data", self.files, size, block or self.block, self.min_file_size, processes=processes)

    @model_validator(mode="after")
    def _check_dataset(self) -> Self:
        self.check(self.outstanding, self.dataset())
        return self
