"""`use: ska2`: temporary storage of intermediate data products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.plugin import Phase, Place, Size
from steelyard.workloads.kit.fio.job import fio_command
from steelyard.workloads.kit.fio.reading import FioFigures
from steelyard.workloads.kit.fio.workload import FioWorkload
from steelyard.workloads.kit.ska import KIB, MIB, TimedOptions
from steelyard.workloads.kit.ska_files import FileSet, prepare


class Ska2Options(TimedOptions):
    """Large sequential and small random reads over two file sets of the same file size."""

    access: Literal["sequential", "random", "both"] = Field(
        "both", description="Which reads to measure; `both` measures one after the other."
    )
    outstanding: int = Field(100, ge=1, le=65536, description="Number of outstanding I/Os.")
    large_files: int = Field(1, ge=1, le=65536, description="Number of files for the sequential reads.")
    small_files: int = Field(10, ge=1, le=65536, description="Number of files for the random reads.")
    max_file_size: Size = Field(
        Size(400 * MIB), description="Size of each file of both sets, in bytes: the amount of data."
    )
    min_file_size: Size | None = Field(
        None, description="If given, each file's size is random between this and max_file_size, in bytes."
    )
    small_block: Size = Field(Size(4 * KIB), description="Size of one random read, in bytes.")
    warm: bool = Field(
        False, description="Read all files into the host's cache before measuring; needs direct: false."
    )

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.warm and self.direct:
            raise ValueError("warm: direct reads bypass the host's cache; add direct: false")
        self.check(self.outstanding, *self.file_sets().values())
        return self

    def file_sets(self) -> Mapping[str, FileSet]:
        """The files of each access that is measured."""
        sets = {
            "sequential": FileSet(
                "large", self.large_files, self.max_file_size, self.block, self.min_file_size
            ),
            "random": FileSet(
                "small", self.small_files, self.max_file_size, self.small_block, self.min_file_size
            ),
        }
        return sets if self.access == "both" else {self.access: sets[self.access]}


class Ska2(FioWorkload[Ska2Options]):
    """SKA2, temporary storage of intermediate data products: written once, read many times.

    **Measures** large sequential reads (a contiguous dataset) and small random reads (a scattered one), each
    with many I/Os outstanding: `sequential_read_…` and `random_read_…` bandwidth, iops and latency.

    **Source**: BigStorage D1.2 (2017), "SKAbench: SKA2 Temporary Storage of Intermediate Data Products". Its
    fio file starts both jobs at once; here they run one after the other, so that each figure belongs to one
    access pattern. Its example (100 MB, 1000 outstanding) has too few blocks of 4 MB; the default is 400 MiB
    and 100.

    **How to read it.** The difference between the two is the benefit of contiguity. `max_file_size` alone
    sets the amount of data: with `direct: false` and `warm: true` it decides whether the host's cache holds
    it.
    """

    Options = Ska2Options
    covers = ("SKA2",)
    examples = (
        {"outstanding": 4, "max_file_size": "2MiB", "block": "64KiB", "small_files": 2, "duration": "200ms"},
        {"access": "random", "outstanding": 1, "max_file_size": "8MiB", "small_files": 2}
        | {"direct": False, "warm": True},
    )

    def figures(self) -> Mapping[str, FioFigures]:
        """Reads, called after their access."""
        return {
            access: FioFigures(("read",), label=f"{access}_", cpu=f"{access}_")
            for access in self.options.file_sets()
        }

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """Each file set is laid out, then read."""
        stages = []
        for access, files in self.options.file_sets().items():
            stages += [prepare(place, files, f"prepare-{access}"), self._read_phase(place, access, files)]
        return tuple(stages)

    def _read_phase(self, place: Place, access: str, files: FileSet) -> Phase:
        options = self.options
        shared = {**options.queue_settings(options.outstanding), **options.timing_settings()}
        job = {
            "rw": "read" if access == "sequential" else "randread",
            "bs": int(files.block),
            "pre_read": options.warm,
            **files.settings(known=True),
        }
        return Phase(access, fio_command(place, access, shared, {access: job}))

    def disk(self) -> int:
        """Both file sets at their largest."""
        return sum(files.total_bytes() for files in self.options.file_sets().values())

    def seconds(self) -> float | None:
        """The durations, if one is given, and the layout's start-up."""
        count = len(self.options.file_sets())
        return self.options.estimate_seconds(count, count)
