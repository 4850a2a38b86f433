"""`use: ska8`: read latency management."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.plugin import Phase, Place, Size
from steelyard.workloads.kit.fio.job import Settings, fio_command
from steelyard.workloads.kit.fio.reading import FioFigures
from steelyard.workloads.kit.fio.workload import FioOptions, FioWorkload
from steelyard.workloads.kit.ska import KIB, MIB
from steelyard.workloads.kit.ska_files import FileSet, prepare


class Ska8Options(FioOptions):
    """Strided reads of one file, with and without prefetching."""

    file_size: Size = Field(Size(64 * MIB), description="Size of the file, in bytes.")
    block: Size = Field(Size(4 * KIB), description="Size of one read, in bytes.")
    stride: int = Field(
        17,
        ge=1,
        le=2**20,
        description="Blocks from the start of one read to the next; 1 reads the entire file.",
    )
    prefetch: Literal["none", "kernel", "ahead"] = Field(
        "none",
        description="none: readahead disabled; kernel: the kernel's own readahead; "
        "ahead: helper threads fetch the blocks into the cache before they are read.",
    )
    helpers: int = Field(8, ge=1, le=256, description="Prefetching threads, for `prefetch: ahead`.")

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        wanted = self.helpers if self.prefetch == "ahead" else 1
        if not self.block or self.count_reads() < wanted:
            raise ValueError(
                f"file_size: {self.file_size} makes {self.count_reads()} reads of {self.block} at stride "
                f"{self.stride}, but {wanted} are needed; raise file_size, or lower block, stride or helpers"
            )
        return self

    def count_reads(self) -> int:
        """Reads in one pass over the file."""
        return self.file_size // (self.block * self.stride) if self.block else 0


class Ska8(FioWorkload[Ska8Options]):
    """SKA8, read latency management: does prefetching hide latency when reads jump?

    **Measures** one pass of strided reads over a file that is not in the host's cache, one read at a time,
    through the cache: `read_latency`, `read_bandwidth`, `read_iops` and CPU of the reading thread.

    **Source**: BigStorage D1.2 (2017), "SKAbench: SKA8 Read Latency Management", which uses IOzone's strided
    read (test 5; its default stride is 17 records) on a file of 1 MB. That is 15 reads of 4 KiB; the
    default here is 64 MiB. fio does the same with `zonemode=strided`.

    **How to read it.** Compare `prefetch: none` with the others at each stride. `kernel` shows what the
    kernel predicts by itself: Linux 6.18 read ahead at stride 1, and with 4 KiB blocks at stride 2, then
    fetching twice what is used; from stride 4 on, or with 64 KiB blocks from stride 2 on, it made no
    difference, and neither did POSIX_FADV_SEQUENTIAL. `ahead` is explicit prefetching by a program that knows
    its stride: `helpers` threads read upcoming blocks, interleaved, so that the measured thread finds them in
    the cache. There, 8 helpers cut the median from 58 µs to under 1 µs at stride 17. The helpers' CPU time is
    not counted.
    """

    Options = Ska8Options
    covers = ("SKA8",)
    examples = (
        {"file_size": "16MiB", "stride": 4},
        {"file_size": "16MiB", "stride": 2, "prefetch": "kernel"},
        {"file_size": "32MiB", "stride": 4, "prefetch": "ahead", "helpers": 4},
    )

    def figures(self) -> Mapping[str, FioFigures]:
        """Reads of the measured thread alone."""
        return {"read": FioFigures(("read",), job_names=frozenset({"read"}))}

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """Lay the file out, drop it from the cache, read."""
        files = FileSet("data", 1, self.options.file_size, self.options.block)
        shared: Settings = {
            "filename": files.first_file(),
            "filesize": int(self.options.file_size),
            "rw": "read",
            "bs": int(self.options.block),
            "zonemode": "strided",
            "zonesize": int(self.options.block),
            "ioengine": "psync",
            "thread": True,
            "invalidate": False,
        }
        jobs = {"read": self._reader()}
        if self.options.prefetch == "ahead":
            jobs["ahead"] = self._helpers()
        return (prepare(place, files), Phase("read", fio_command(place, "read", shared, jobs)))

    def _reader(self) -> Settings:
        options = self.options
        return {
            "zoneskip": (options.stride - 1) * options.block,
            "io_size": options.count_reads() * options.block,
            "fadvise_hint": 0 if options.prefetch == "kernel" else "random",
        }

    def _helpers(self) -> Settings:
        # Helper k of n reads the k-th, (n+k)-th, (2n+k)-th … of the blocks that are to be read.
        options = self.options
        return {
            "numjobs": options.helpers,
            "offset_increment": options.stride * options.block,
            "zoneskip": (options.helpers * options.stride - 1) * options.block,
            "io_size": options.count_reads() // options.helpers * options.block,
            "fadvise_hint": "random",
        }

    def disk(self) -> int:
        """The file."""
        return int(self.options.file_size)
