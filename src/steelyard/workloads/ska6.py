"""`use: ska6`: temporary storage of key data and program state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import Field, model_validator

from steelyard.plugin import Command, Metric, Place, Reading, Size
from steelyard.workloads.kit.fio.job import Settings, fio_command
from steelyard.workloads.kit.fio.output import FioResult
from steelyard.workloads.kit.fio.reading import FioFigures
from steelyard.workloads.kit.fio.workload import FioWorkload
from steelyard.workloads.kit.ska import GIB, SkaOptions
from steelyard.workloads.kit.ska_files import FileSet


class Ska6Options(SkaOptions):
    """Checkpoints of a program's state into one file that holds several of them in turn."""

    outstanding: int = Field(256, ge=1, le=65536, description="Number of outstanding I/Os.")
    size: Size = Field(Size(GIB), description="Size of one checkpoint, in bytes.")
    buffers: int = Field(
        2, ge=1, le=64, description="Regions of the file that take checkpoints in turn; 2: double buffer."
    )
    checkpoints: int = Field(
        2, ge=1, le=64, description="Number of checkpoints to write, one after the other."
    )

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        self.check(self.outstanding, FileSet("state", 1, self.size, self.block, limit="size"))
        if self.size % self.block:
            raise ValueError(f"size: {self.size} is not a whole number of blocks of {self.block}")
        return self


class Ska6(FioWorkload[Ska6Options]):
    """SKA6, key data and program state: how soon is a checkpoint safe?

    **Measures** large sequential writes of a program's state into a single file with many I/Os outstanding.
    Each checkpoint ends with an fsync, which is included: `checkpoint_time` lasts until the state is
    persistent. Checkpoints go in turn into `buffers` regions of the file, so that a complete one survives a
    crash during the next. Also `write_…` bandwidth, iops, latency, and CPU.

    **Source**: BigStorage D1.2 (2017), "SKAbench: SKA6 Temporary Storage of Key Data/Program State". Its
    rationale mentions the double buffer, but its fio file writes one buffer once and does not sync.

    **How to read it.** `checkpoint_time` is what a program loses per checkpoint if it waits for it.
    `write_latency` is that of a single write, without the fsync. The first round over the buffers writes
    reserved but new space; if `checkpoints` exceeds `buffers`, later rounds overwrite.
    """

    Options = Ska6Options
    covers = ("SKA6",)
    examples = (
        {"outstanding": 8, "size": "16MiB", "block": "16KiB", "checkpoints": 3},
        {"outstanding": 1, "size": "16MiB", "block": "64KiB", "buffers": 1, "direct": False},
    )

    def figures(self) -> Mapping[str, FioFigures]:
        """Writes."""
        return {"run": FioFigures(("write",))}

    def metrics(self) -> tuple[Metric, ...]:
        """Those of fio, and the time of a checkpoint."""
        mean = Metric("checkpoint_time", "s", "lower", "mean time to persist a checkpoint", over_copies="max")
        worst = Metric(
            "checkpoint_time_worst", "s", "lower", "longest time to persist a checkpoint", over_copies="max"
        )
        return (*super().metrics(), mean, worst)

    def derive_values(self, result: FioResult, reading: Reading) -> Mapping[str, float]:
        """The time of a checkpoint, fsync included, from each job's run time."""
        times = [job.flows["write"].seconds for job in result.jobs if "write" in job.flows]
        return {"checkpoint_time": sum(times) / len(times), "checkpoint_time_worst": max(times)}

    def command(self, place: Place) -> Command:
        """One job after the other writes a checkpoint, each into the next region of the file."""
        options = self.options
        shared = {
            **options.queue_settings(options.outstanding),
            **options.write_settings(),
            "end_fsync": True,
            "filename": "state",
            "filesize": options.size * options.buffers,
            "size": int(options.size),
        }
        jobs = {f"checkpoint{number}": self._region(number) for number in range(options.checkpoints)}
        return fio_command(place, "run", shared, jobs)

    def _region(self, number: int) -> Settings:
        return {"stonewall": True, "offset": number % self.options.buffers * self.options.size}

    def disk(self) -> int:
        """All regions."""
        return self.options.size * self.options.buffers
