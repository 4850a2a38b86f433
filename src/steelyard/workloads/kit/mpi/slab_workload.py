"""What the benchmarks of 4-D data share, whatever library writes them: phases, metrics, and their reading."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from steelyard.plugin import Command, Metric, Output, ParseFailure, Phase, Place, Reading
from steelyard.plugin.workload import Workload
from steelyard.workloads.kit.document import JsonNode, parse_last_line
from steelyard.workloads.kit.mpi.slab_options import SlabOptions
from steelyard.workloads.kit.mpi.spread import parse_spread, spread_metrics

_TIMES = {
    "open": "time to open or create the file",
    "io": "time in transfers",
    "close": "time to flush and close the file",
    "total": "time of open, transfers and close",
}
_RATES = {
    "rank_rate": "a rank's bytes per second of its transfers",
    "rank_rate_total": "a rank's bytes per second, open and close included",
}
_SIZES = (
    Metric("bytes", "B", "none", "data transferred by all ranks in each phase"),
    Metric("file_bytes", "B", "lower", "size of the file, compressed as it may be"),
)
_BYTES_A_SECOND = 100e6  # a modest disk, for the plan
_START = 0.6  # seconds until ranks have found each other
SlabOptionsT = TypeVar("SlabOptionsT", bound=SlabOptions)


class SlabWorkload(Workload[SlabOptionsT]):
    """Phases `write` and `read` of one file by all ranks; the one that is not asked for is not measured.

    A subclass names its tool in `needs`.
    """

    example_ranks: ClassVar[int] = 2

    def metrics(self) -> tuple[Metric, ...]:
        """Rates first, then the times that they come from, for each phase that is measured."""
        return (*(metric for phase in self._list_measured() for metric in _phase_metrics(phase)), *_SIZES)

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """The file must be written before it can be read."""
        names = ("write",) if self.options.operation == "write" else ("write", "read")
        return tuple(Phase(name, self._phase(name, place), name in self._list_measured()) for name in names)

    def parse(self, phase: str, output: Output) -> Reading:
        """The last line. Raises ParseFailure, also when other than the data that were asked for moved."""
        document = parse_last_line(output.stdout, self.needs[0].name)
        size = document.child("bytes").number()
        if size != self.options.count_bytes():
            raise ParseFailure(
                f"{size:.0f} bytes were transferred, not the {self.options.count_bytes()} asked for"
            )
        values = _read_phase(phase, document, size)
        if phase == self._list_measured()[0]:
            values |= {"bytes": size, "file_bytes": document.child("file_bytes").number()}
        return Reading(values, facts=self._read_facts(phase, document))

    def directory(self) -> str:
        """As the option says."""
        return self.options.directory

    def disk(self) -> int:
        """The whole file, as if nothing were compressed."""
        return self.options.count_bytes()

    def seconds(self) -> float | None:
        """A guess: a modest disk, and a second for each start of the ranks."""
        phases = 1 if self.options.operation == "write" else 2
        return phases * (_START + self.options.count_bytes() / _BYTES_A_SECOND)

    def _list_measured(self) -> tuple[str, ...]:
        return ("write", "read") if self.options.operation == "both" else (self.options.operation,)

    def _phase(self, name: str, place: Place) -> Command:
        """All options as words; the program takes no defaults of its own."""
        left_out = {"operation", "directory"}
        values = {key: value for key, value in self.options.model_dump().items() if key not in left_out}
        words = [f"{key}={_word(value)}" for key, value in values.items()]
        return Command(self.needs[0].argv(f"operation={name}", f"directory={place.scratch}", *words))

    def _read_facts(self, phase: str, document: JsonNode) -> dict[str, object]:
        facts: dict[str, object] = {name: document.child(name).text() for name in ("library", "mpi")}
        facts["ranks"] = document.child("ranks").count()
        for name in ("block", "chunk"):
            lengths = document.child(name, default=[]).nodes()
            facts[name] = ":".join(str(each.count()) for each in lengths) or "contiguous"
        if phase == "read":
            facts["verified"] = self.options.verify
        return facts


def _phase_metrics(phase: str) -> tuple[Metric, ...]:
    rates = (
        Metric(f"{phase}_rate", "B/s", "higher", f"{phase}: all bytes over the longest time in transfers"),
        Metric(f"{phase}_rate_total", "B/s", "higher", f"{phase}: the same, open and close included"),
    )
    units = (("s", _TIMES), ("B/s", _RATES))
    spreads = [
        spread_metrics(f"{phase}_{name}", unit, f"{phase}: {about}")
        for unit, table in units
        for name, about in table.items()
    ]
    return (*rates, *(metric for spread in spreads for metric in spread))


def _read_phase(phase: str, document: JsonNode, size: float) -> dict[str, float]:
    values: dict[str, float] = {}
    for name in (*_TIMES, *_RATES):
        values |= parse_spread(document.child(name), f"{phase}_{name}")
    for name, time in ((f"{phase}_rate", f"{phase}_io_max"), (f"{phase}_rate_total", f"{phase}_total_max")):
        if not values[time] > 0:
            raise ParseFailure(f"{document.where}: the transfers took no time")
        values[name] = size / values[time]
    return values


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
