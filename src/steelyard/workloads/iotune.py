"""`use: iotune`: how many requests at once a disk can use, one level at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.plugin import Duration, Phase, Place, Size
from steelyard.workloads.kit.fio.job import fio_command
from steelyard.workloads.kit.fio.reading import FioFigures
from steelyard.workloads.kit.fio.workload import FioOptions, FioWorkload
from steelyard.workloads.kit.ska_files import FileSet, prepare

_BLOCKS = {"random": Size(4 * 2**10), "sequential": Size(128 * 2**10)}
_START = 0.35  # seconds that each of the two fio commands takes beside its I/O, about
_SECTOR = 512


class IotuneOptions(FioOptions):
    """One direction and pattern, at one level of parallelism."""

    direction: Literal["read", "write"] = Field(
        "read", description="Whether to read or to overwrite the file."
    )
    pattern: Literal["sequential", "random"] = Field("random", description="In which order of blocks.")
    requests: int = Field(1, ge=1, le=65536, description="Number of requests that the disk is given at once.")
    block: Size | None = Field(
        None, description="Size of one request, in bytes; default: 4KiB if random, 128KiB if sequential."
    )
    size: Size = Field(Size(256 * 2**20), description="Size of the test file, in bytes.")
    duration: Duration = Field(Duration(0.5), description="How long to measure, in seconds.")

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        block = self.request_size()
        if not block or block % _SECTOR:
            raise ValueError(f"block: {block} is not a multiple of 512 bytes, as direct I/O needs")
        if self.size < block * self.requests:
            held = f"size: {self.size} holds {self.size // block} blocks of {block}"
            needed = Size(block * self.requests)
            raise ValueError(
                f"{held}, fewer than the {self.requests} requests; raise size to {needed}, or lower requests"
            )
        if not 0.01 <= self.duration <= 86400:
            raise ValueError(f"duration: {self.duration} is not between 10ms and 1d")
        return self

    def request_size(self) -> Size:
        """The size of one request."""
        return _BLOCKS[self.pattern] if self.block is None else self.block


class Iotune(FioWorkload[IotuneOptions]):
    """How much a disk does when it is given so many requests at once.

    **Measures** direct I/O on one file, which is written first, unmeasured: `bandwidth`, `iops` and the
    completion `latency` of one direction and pattern, with `requests` in parallel, and fio's CPU time.

    **Source**: MIKELANGELO D6.3 (2016), 5.3, "Adding IOTune": find the parallelism with the highest
    throughput that does not yet increase the latency, and tell Seastar. A disk serves only so many requests
    at once; more of them wait in a queue that no scheduler can order. Seastar's doc/io-properties-file.md
    defines the file.

    **How to read it.** `find: {knee: requests, of: iops}` doubles the requests until that brings no more,
    and names the smallest number beyond which there is no gain: see examples/iotune.yaml. In a closed loop
    latency is requests / iops (Little's law), so where throughput stops growing, latency starts to grow.
    With `cpu_user` and `cpu_system` near 100 % together, fio's one thread is the limit, not the disk. A
    trial that is marked `fallback` could not keep so many requests outstanding: the kernel takes no more
    at once. Such a level counts as one that brings nothing. `steelyard export --as io_properties` writes
    the file for Seastar from a run that has measured both directions and patterns: iops of random,
    bandwidth of sequential requests, at the knee.
    """

    Options = IotuneOptions
    covers = ("MIK.4",)
    examples = (
        {"requests": 4, "size": "8MiB", "duration": "200ms"},
        {"direction": "write", "pattern": "sequential", "requests": 2, "size": "8MiB", "duration": "200ms"},
    )

    def figures(self) -> Mapping[str, FioFigures]:
        """Of the one direction, whose name the metrics leave out: a search goes by one metric for both."""
        return {"run": FioFigures((self.options.direction,), is_named=False)}

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """Write the file, or the first writes would find no blocks; then measure."""
        options = self.options
        files = FileSet("iotune", 1, int(options.size), int(options.request_size()))
        job = {
            "rw": options.direction if options.pattern == "sequential" else f"rand{options.direction}",
            "bs": files.block,
            "ioengine": "libaio",
            "direct": True,
            "thread": True,
            "iodepth": options.requests,
            "iodepth_batch_complete_max": options.requests,
            "time_based": True,
            "runtime": f"{round(options.duration * 1000)}ms",
            **files.settings(known=True),
        }
        return (prepare(place, files), Phase("run", fio_command(place, "run", {}, {"iotune": job})))

    def disk(self) -> int:
        """The file."""
        return int(self.options.size)

    def seconds(self) -> float:
        """The duration, and the start of both commands; the file is written at the disk's own pace."""
        return self.options.duration + 2 * _START
