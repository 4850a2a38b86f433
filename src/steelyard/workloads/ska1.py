"""`use: ska1`: temporary storage of raw data."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.model.command import Command, Place
from steelyard.workloads._fio_job import fio_command
from steelyard.workloads._fio_reading import FioFigures
from steelyard.workloads._fio_workload import FioWorkload
from steelyard.workloads._ska import DatasetOptions


class Ska1Options(DatasetOptions):
    """Large sequential writes: how many outstanding, to how many files (one per stream), of which size."""


class Ska1(FioWorkload[Ska1Options]):
    """SKA1, temporary storage of raw data: can the store take in a telescope's data as it arrives?

    **Measures** large sequential writes with many I/Os outstanding, spread in turn over several files, one
    for each stream of the instrument: `write_bandwidth`, `write_iops`, `write_latency` and CPU time.

    **Source**: BigStorage D1.2 (2017), "SKAbench: SKA1 Temporary storage of Raw Data". Its example has one
    file of up to 1 GB and 1000 outstanding, which such a file cannot hold in blocks of 4 MB; the default
    is 256. `_ska` tells what became of its assumptions.

    **How to read it.** Bandwidth rises with `outstanding` until the device is busy all the time; from there
    on only latency grows. fio reserves the files' space before it measures.
    """

    options = Ska1Options
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
        chosen = self.chosen
        shared = {**chosen.queue(chosen.outstanding), **chosen.timing()}
        return fio_command(
            place, "run", shared, {"write": {**chosen.writing(), **chosen.dataset().settings()}}
        )

    def disk(self) -> int:
        """All files at their largest."""
        return self.chosen.dataset().bytes()

    def seconds(self) -> float | None:
        """The duration, if one is given."""
        return self.chosen.about(1)
