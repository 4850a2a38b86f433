"""`use: ska5`: storing raw data in the processing nodes (data locality)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.plugin import Phase, Place, Size
from steelyard.workloads.kit.fio.job import Settings, fio_command
from steelyard.workloads.kit.fio.reading import FioFigures
from steelyard.workloads.kit.fio.workload import FioWorkload
from steelyard.workloads.kit.ska import KIB, DatasetOptions


class Ska5Options(DatasetOptions):
    """A dataset that is written, then read in the same place."""

    access: Literal["sequential", "random"] = Field(
        "sequential", description="How the dataset is read: large sequential or small random reads."
    )
    small_block: Size = Field(Size(4 * KIB), description="Size of one random read, in bytes.")

    @model_validator(mode="after")
    def _check_read_block(self) -> Self:
        self.check(self.outstanding, self.dataset(block=self.read_block()))
        return self

    def read_block(self) -> Size:
        """Size of one read."""
        return self.block if self.access == "sequential" else self.small_block


class Ska5(FioWorkload[Ska5Options]):
    """SKA5, raw data in the processing nodes: what is data locality worth?

    **Measures** writing a dataset with large sequential writes, then reading it from the same place, with
    large sequential or small random reads: `write_…` and `read_…` bandwidth, iops and latency, and the CPU
    time of each phase.

    **Source**: BigStorage D1.2 (2017), "SKABench: SKA5 Storing raw data in the processing nodes (Data
    Locality)". Its depth is 256, of which its example file of at most 256 MB holds 64; the default is 1 GiB.

    **How to read it.** Compare with the same cell against remote storage. The host's cache does not help:
    I/O is direct, and with `direct: false` the dataset is synced, and dropped from the cache before it is
    read.
    """

    Options = Ska5Options
    covers = ("SKA5",)
    examples = (
        {"outstanding": 4, "files": 2, "max_file_size": "4MiB", "block": "64KiB", "duration": "200ms"},
        {"access": "random", "outstanding": 8, "max_file_size": "16MiB", "block": "64KiB"},
        {"outstanding": 1, "max_file_size": "16MiB", "block": "64KiB", "direct": False},
    )

    def figures(self) -> Mapping[str, FioFigures]:
        """Writes, then reads."""
        return {way: FioFigures((way,), cpu=f"{way}_") for way in ("write", "read")}

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """Write, then read; fio drops what writing left in the host's cache when it opens a file to read."""
        options = self.options
        files = options.dataset()
        reading = {
            "rw": "read" if options.access == "sequential" else "randread",
            "bs": int(options.read_block()),
        }
        write = self._stage(place, "write", {**options.write_settings(), **files.settings()})
        read = self._stage(place, "read", {**reading, **files.settings(known=True)})
        return (write, read)

    def _stage(self, place: Place, name: str, job: Settings) -> Phase:
        shared = {**self.options.queue_settings(self.options.outstanding), **self.options.timing_settings()}
        return Phase(name, fio_command(place, name, shared, {name: job}))

    def disk(self) -> int:
        """The dataset at its largest."""
        return self.options.dataset().total_bytes()

    def seconds(self) -> float | None:
        """Both durations, if one is given."""
        return self.options.estimate_seconds(2)
