"""`use: ska4`: hierarchical storage management."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.plugin import Metric, Phase, Place, Rate, Reading, Size
from steelyard.workloads.kit.fio.job import Settings, fio_command
from steelyard.workloads.kit.fio.output import FioResult
from steelyard.workloads.kit.fio.reading import FioFigures
from steelyard.workloads.kit.fio.workload import FioWorkload
from steelyard.workloads.kit.ska import KIB, MIB, START, TimedOptions
from steelyard.workloads.kit.ska_files import FileSet, prepare


class Ska4Options(TimedOptions):
    """A move between storage tiers, of which the lower one is emulated by its rate."""

    direction: Literal["down", "up"] = Field(
        "down", description="down: write to the lower tier; up: read from it."
    )
    access: Literal["sequential", "random"] = Field(
        "sequential", description="How the source is read: large sequential or small random reads."
    )
    both_ends: bool = Field(
        False, description="Also do the other half of the move at the same rate: read the source, or write."
    )
    outstanding: int = Field(1, ge=1, le=65536, description="Maximum number of outstanding I/Os.")
    files: int = Field(30, ge=1, le=65536, description="Number of files on each side.")
    large_file_size: Size = Field(
        Size(100 * MIB), description="Size of each file that is written, or read sequentially, in bytes."
    )
    small_file_size: Size = Field(
        Size(10 * MIB), description="Size of each file that is read randomly, in bytes."
    )
    small_block: Size = Field(Size(4 * KIB), description="Size of one random read, in bytes.")
    lower_tier_write_rate: Rate = Field(
        Rate(200 * MIB), description="How fast the lower tier writes, in bytes per second."
    )
    lower_tier_read_rate: Rate = Field(
        Rate(10 * MIB), description="How fast the lower tier reads, in bytes per second."
    )

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.rate() < 1:
            raise ValueError("a lower tier's rate must be at least 1 byte per second")
        self.check(self.outstanding, *self.sides().values())
        return self

    def rate(self) -> int:
        """The pace of the move, in bytes per second: that of the lower tier."""
        return int(self.lower_tier_write_rate if self.direction == "down" else self.lower_tier_read_rate)

    def bottleneck(self) -> str:
        """The direction of I/O that the lower tier does."""
        return "write" if self.direction == "down" else "read"

    def sides(self) -> Mapping[str, FileSet]:
        """The files that are read and written, as far as the move touches them."""
        large, limit = self.large_file_size, "large_file_size"
        source = FileSet("source", self.files, large, self.block, limit=limit)
        if self.access == "random":
            size = self.small_file_size
            source = FileSet("source", self.files, size, self.small_block, limit="small_file_size")
        both = {"read": source, "write": FileSet("destination", self.files, large, self.block, limit=limit)}
        return both if self.both_ends else {self.bottleneck(): both[self.bottleneck()]}


class Ska4(FioWorkload[Ska4Options]):
    """SKA4, hierarchical storage management: moving data between a fast and a slow tier.

    **Measures** the lower tier's half of a move, limited to its emulated rate: large sequential writes on the
    way down, large sequential or small random reads on the way up. With `both_ends` the other half runs at
    the same time and rate: the source is read, or the destination written with large sequential writes. In
    addition to bandwidth, iops, latency and CPU: `rate_reached`, achieved over emulated rate.

    **Source**: BigStorage D1.2 (2017), "SKABench: SKA4 Hierarchical Storage Management", whose jobs are the
    default and whose text also asks for `both_ends`. Its rates 200m and 10m are MiB/s to fio.

    **How to read it.** `rate_reached` well below 100 % means that the storage is slower than the tier it
    emulates; slightly above 100 % is fio catching up in a short run. The rate limit keeps the queue empty, so
    `outstanding` is an upper limit here, and the achieved depth is recorded but not checked. With `direction:
    down`, `access` matters only with `both_ends`.
    """

    Options = Ska4Options
    covers = ("SKA4",)
    examples = (
        {"files": 2, "large_file_size": "4MiB", "block": "64KiB", "lower_tier_write_rate": "40MiB/s"},
        {"direction": "up", "access": "random", "both_ends": True, "duration": "200ms"}
        | {"files": 2, "small_file_size": "1MiB", "large_file_size": "2MiB", "block": "64KiB"},
        {"direction": "up", "outstanding": 4, "lower_tier_read_rate": "20MiB/s"}
        | {"files": 2, "large_file_size": "2MiB", "block": "64KiB"},
    )

    def figures(self) -> Mapping[str, FioFigures]:
        """Each side of the move."""
        return {"move": FioFigures(tuple(self.options.sides()))}

    def metrics(self) -> tuple[Metric, ...]:
        """Those of fio, and how near the emulated rate came."""
        about = "achieved rate relative to the emulated rate of the lower tier"
        return (*super().metrics(), Metric("rate_reached", "%", "higher", about, over_copies="min"))

    def derive_values(self, result: FioResult, reading: Reading) -> Mapping[str, float]:
        """The share of the emulated rate."""
        achieved = reading.values[f"{self.options.bottleneck()}_bandwidth"]
        return {"rate_reached": achieved / self.options.rate()}

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """Lay out what is read, then move."""
        options, sides = self.options, self.options.sides()
        shared = {
            **options.queue_settings(options.outstanding),
            **options.timing_settings(),
            "rate": options.rate(),
        }
        jobs = {way: self._job(way, files) for way, files in sides.items()}
        move = Phase("move", fio_command(place, "move", shared, jobs))
        return (prepare(place, sides["read"]), move) if "read" in sides else (move,)

    def _job(self, way: str, files: FileSet) -> Settings:
        if way == "write":
            return {**self.options.write_settings(), **files.settings()}
        rw = "read" if self.options.access == "sequential" else "randread"
        return {"rw": rw, "bs": int(files.block), **files.settings(known=True)}

    def disk(self) -> int:
        """Both sides, as far as they are used."""
        return sum(files.total_bytes() for files in self.options.sides().values())

    def seconds(self) -> float | None:
        """The duration, or what the data takes at the emulated rate."""
        if self.options.duration is not None:
            return self.options.estimate_seconds(1, 1)
        return (
            max(files.total_bytes() for files in self.options.sides().values()) / self.options.rate()
            + 2 * START
        )
