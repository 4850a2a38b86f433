"""What every workload that measures with fio shares: the tool, the metrics, the parser, where files lie."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from pydantic import Field

from steelyard.model.command import Output
from steelyard.model.metric import Metric, Reading
from steelyard.model.paths import ScratchOrAbsolute
from steelyard.workloads.base import Workload, WorkloadOptions
from steelyard.workloads.kit.fio import output as result_output
from steelyard.workloads.kit.fio.job import FIO, result_file
from steelyard.workloads.kit.fio.output import FioResult
from steelyard.workloads.kit.fio.reading import FioFigures


class FioOptions(WorkloadOptions):
    """Options of every workload that measures with fio."""

    directory: ScratchOrAbsolute = Field(
        "scratch",
        description="Where to put test files: `scratch` (the run's own, on each host); an absolute path, in "
        "which the run makes (and later removes) its own directory; or a service that is a file system.",
    )


FioOptionsT = TypeVar("FioOptionsT", bound=FioOptions)


class FioWorkload(Workload[FioOptionsT]):
    """A workload whose measured phases are fio commands. Subclasses give `figures` and the commands."""

    needs = (FIO,)

    @abstractmethod
    def figures(self) -> Mapping[str, FioFigures]:
        """What each measured phase gives."""

    def metrics(self) -> tuple[Metric, ...]:
        """Those of all phases."""
        return tuple(metric for figures in self.figures().values() for metric in figures.metrics())

    def parse(self, phase: str, output: Output) -> Reading:
        """See `output` and `reading`. Raises ParseFailure."""
        result = result_output.load(output, result_file(phase))
        reading = self.figures()[phase].reading(result)
        return replace(reading, values={**reading.values, **self.derive_values(result, reading)})

    def derive_values(self, result: FioResult, reading: Reading) -> Mapping[str, float]:
        """Further values of a workload's own; such a workload adds their metrics."""
        return {}

    def directory(self) -> str:
        """As the option says."""
        return self.options.directory
