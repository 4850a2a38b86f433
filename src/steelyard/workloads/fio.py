"""`use: fio`: any fio job, its options passed through and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from steelyard.plugin import Command, Place
from steelyard.workloads.kit.fio.check import JobOptions, Scalar, check_job_name
from steelyard.workloads.kit.fio.job import Settings, fio_command
from steelyard.workloads.kit.fio.options import DIRECTIONS
from steelyard.workloads.kit.fio.reading import FioFigures
from steelyard.workloads.kit.fio.workload import FioOptions, FioWorkload

_PREFIX = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
_SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "m": 60.0, "h": 3600.0, "d": 86400.0}


class FioJobsOptions(FioOptions):
    """Either `job` or `jobs`, with values as fio has them: `bs: 4k`, `runtime: 10s`, `direct: true`."""

    job: JobOptions | None = Field(
        None, description="fio options of one job: option to value, in fio's own units (k, m, g are 1024s)."
    )
    jobs: dict[Annotated[str, AfterValidator(check_job_name)], JobOptions] | None = Field(
        None,
        description="Several jobs: name to fio options. They run at the same time, except with `stonewall`.",
    )
    shared: JobOptions = Field(
        default_factory=JobOptions, alias="global", description="fio options that apply to every job."
    )

    @model_validator(mode="after")
    def _check_jobs(self) -> Self:
        if bool(self.jobs) == (self.job is not None):
            raise ValueError("give either `job: {rw: …}` or `jobs: {name: {rw: …}}`")
        return self

    def all_jobs(self) -> Mapping[str, Settings]:
        """Job name to its options."""
        jobs = self.jobs or {"job": self.job or JobOptions()}
        return {name: job.explicit_options() for name, job in jobs.items()}

    def merge_shared(self) -> list[dict[str, Scalar]]:
        """The options of each job with the global ones under them."""
        return [{**self.shared.explicit_options(), **options} for options in self.all_jobs().values()]


class Fio(FioWorkload[FioJobsOptions]):
    """Any I/O that fio can do in a directory.

    **Measures** bandwidth, I/Os per second and the completion latency of every direction (read, write, trim)
    that the jobs use, over all jobs together, and the CPU time of fio and of the kernel on its behalf.

    **Source**: the Flexible I/O Tester, https://github.com/axboe/fio, and its HOWTO. All options of fio 3.33
    are accepted, except those that run programs, leave the scratch directory, replay traces or change the
    host.

    **How to read it.** A trial is marked `fallback` if the I/O did not reach the requested queue depth
    (`kit.fio.depth` has the rule). Set `iodepth_batch_complete_max` to the depth so that fio collects
    finished I/Os at once; with its default of 1 it reports a full queue, and late completions, whatever the
    kernel does. fio's random numbers come from the trial's seed.
    """

    Options = FioJobsOptions
    examples = (
        {"job": {"rw": "randread", "bs": "4k", "size": "16m", "direct": True}},
        {
            "global": {
                "bs": "64k",
                "size": "2m",
                "ioengine": "libaio",
                "runtime": "200ms",
                "time_based": True,
            },
            "jobs": {"writer": {"rw": "write"}, "reader": {"rw": "randread", "iodepth": 4, "direct": True}},
        },
        {"job": {"rw": "randrw", "bs": "16k", "size": "2m", "runtime": "200ms", "time_based": None}},
    )

    def figures(self) -> Mapping[str, FioFigures]:
        """Of the one phase: the directions of all jobs."""
        used = {way for job in self.options.merge_shared() for way in _directions(job)}
        return {"run": FioFigures(tuple(way for way in ("read", "write", "trim") if way in used))}

    def command(self, place: Place) -> Command:
        """The jobs as they were given, in the copy's scratch directory."""
        return fio_command(place, "run", self.options.shared.explicit_options(), self.options.all_jobs())

    def disk(self) -> int:
        """As far as the jobs state sizes in bytes; 0 where they do not."""
        return sum(_size(job) for job in self.options.merge_shared())

    def seconds(self) -> float | None:
        """The longest time of a job that runs for a given time; else unknown."""
        times = [
            _parse_time(str(job.get("runtime", job.get("timeout", ""))))
            for job in self.options.merge_shared()
        ]
        return max((time for time in times if time), default=None)


def _directions(job: Mapping[str, Any]) -> tuple[str, ...]:
    word = str(job.get("rw", job.get("readwrite", "read")))
    return DIRECTIONS[word.split(":", maxsplit=1)[0]]


def _size(job: Mapping[str, Any]) -> int:
    files = _parse_amount(job.get("nrfiles", job.get("nr_files", 1)))
    each = _parse_amount(job.get("size", "")) or _parse_amount(job.get("filesize", "")) * files
    return each * _parse_amount(job.get("numjobs", 1))


def _parse_amount(value: object) -> int:
    largest = str(value).split("-")[-1].lower()
    match = re.fullmatch(r"(\d+)([kmgtp]?)b?", largest)
    return int(match[1]) * _PREFIX[match[2]] if match else 0


def _parse_time(text: str) -> float:
    match = re.fullmatch(r"(\d+)\s?([a-z]*)", text)
    return int(match[1]) * _SECONDS.get(match[2], 0.0) if match else 0.0
