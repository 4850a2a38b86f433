"""`use: ska1`: temporary storage of raw data."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.plugin import Command, Place
from steelyard.workloads.kit.fio.job import fio_command
from steelyard.workloads.kit.fio.reading import FioFigures
from steelyard.workloads.kit.fio.workload import FioWorkload
from steelyard.workloads.kit.ska import DatasetOptions


class Ska1Options(DatasetOptions):
    """Large sequential writes: how many outstanding, to how many files (one per stream), of which size."""


class Ska1(FioWorkload[Ska1Options]):
    """SKA1, temporary storage of raw data: can the store absorb a telescope's data as it arrives?

    **Measures** large sequential writes with many I/Os outstanding, spread in turn over several files, one
    for each stream of the instrument: `write_bandwidth`, `write_iops`, `write_latency` and CPU time.

    **Source**: BigStorage D1.2 (2017), "SKAbench: SKA1 Temporary storage of Raw Data". Its example has one
    file of up to 1 GB and 1000 outstanding, which such a file cannot hold in blocks of 4 MB; the default is
    256. `kit.ska` describes how its assumptions were adapted.

    **How to read it.** Bandwidth rises with `outstanding` until the device is fully busy; beyond that, only
    latency grows. fio reserves the files' space before it measures.
    """

    Options = Ska1Options
    covers = ("SKA1",)
    examples = (
        {"outstanding": 4, "files": 2, "max_file_size": "4MiB", "block": "64KiB", "duration": "200ms"},
        {"outstanding": 2, "max_file_size": "32MiB", "min_file_size": "16MiB", "block": "64KiB"},
        {"outstanding": 1, "max_file_size": "16MiB", "block": "64KiB", "direct": False},
    )

    def figures(self) -> Mapping[str, FioFigures]:
        """Writes."""
        return {"run": FioFigures(("write",))}

    def command(self, place: Place) -> Command:
        """One job writes all files."""
        options = self.options
        shared = {**options.queue_settings(options.outstanding), **options.timing_settings()}
        return fio_command(
            place, "run", shared, {"write": {**options.write_settings(), **options.dataset().settings()}}
        )

    def disk(self) -> int:
        """All files at their largest."""
        return self.options.dataset().total_bytes()

    def seconds(self) -> float | None:
        """The duration, if one is given."""
        return self.options.estimate_seconds(1)
