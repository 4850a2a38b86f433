"""`use: ycsb`: a database under a mix of small operations."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.plugin import Metric, Output, Phase, Place, Reading, SeriesSample
from steelyard.plugin.workload import Workload, list_services
from steelyard.workloads.ycsb.command import JAVA, YCSB, command
from steelyard.workloads.ycsb.options import NAME, YcsbOptions
from steelyard.workloads.ycsb.output import parse_current_rate, parse_output
from steelyard.workloads.ycsb.reading import YcsbFigures

_STAGES = {"load": ("create", "load"), "run": ("run",), "both": ("create", "load", "run")}
_START = 1.5  # seconds that a Java machine and its connections take
_GUESS = 5000.0  # operations per second, for a first estimate


class Ycsb(Workload[YcsbOptions]):
    """The Yahoo! Cloud Serving Benchmark: reads, writes and scans of small records, in a known mix.

    **Measures** `throughput`, and for each operation of the mix its latency (`read_p50` … `read_p999`,
    `read_mean`, `read_max`, from the histogram `read`), how often it succeeded and how often it failed. With
    a `rate` also `rate_reached`, and `read_scheduled`, the latency from an operation's scheduled start, which
    is listed first: a store that stalls delays later operations, which the plain latency does not show.

    **Source**: YCSB 0.17, https://github.com/brianfrankcooper/YCSB, its core workloads a to f. The bindings
    are Steelyard's own; each is part of the service for which it is a client.

    **How to read it.** Records, operations and rate are totals over all copies; each copy loads and runs its
    part and adds its own records. Histograms of copies are added up before percentiles are computed; their
    bins are 0.1 % wide. Each copy is a Java virtual machine that starts slowly: `omit` the first seconds, and
    give clients their own host. A read-modify-write counts as a read, an update and itself. YCSB chooses the
    keys, without a seed.
    """

    Options = YcsbOptions
    needs = (YCSB, JAVA)
    covers = ("SCT1", "SCT2", "SCT5", "SCT10", "S6.BDUC.013", "R6.BD.046", "R6.BD.047", "R6.BD.048")
    examples = (
        {"do": "both", "protocol": "redis", "mix": "a", "records": 500, "operations": 2000, "threads": 2},
        {"do": "load", "protocol": "redis", "records": 2000, "threads": 2},
        {
            "do": "both",
            "protocol": "redis",
            "mix": {"read": 4, "update": 2, "scan": 2, "insert": 1, "read_modify_write": 1},
            "records": 500,
            "operations": 2000,
            "scan_length": 10,
            "verify": True,
        },
        {
            "do": "both",
            "protocol": "postgresql",
            "mix": "f",
            "records": 500,
            "duration": "4s",
            "omit": "2s",
            "rate": "500/s",
        },
        {"do": "both", "protocol": "memcached", "mix": "d", "records": 500, "operations": 2000},
    )

    @classmethod
    def find_services(cls) -> frozenset[str]:
        """Those that declare a binding."""
        return list_services(NAME)

    def metrics(self) -> tuple[Metric, ...]:
        """Those of the phase that is measured."""
        return self._figures().metrics()

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """Make the table, load, run; of these the last is measured."""
        stages = [name for name in _STAGES[self.options.do] if name != "create" or self.options.create]
        return tuple(
            Phase(stage, command(stage, place, self.options), measured=stage == stages[-1])
            for stage in stages
        )

    def parse(self, phase: str, output: Output) -> Reading:
        """See `ycsb.output` and `ycsb.reading`. Raises ParseFailure."""
        return self._figures().reading(parse_output(output, loaded=phase == "load"))

    def series(self, phase: str, output: Output) -> tuple[SeriesSample, ...]:
        """Throughput and latencies over time. Raises ParseFailure."""
        return self._figures().series(parse_output(output, loaded=phase == "load"))

    def feed(self, phase: str, stream: str, line: str) -> Mapping[str, float]:
        """The rate of the interval that a status line ends."""
        rate = parse_current_rate(line)
        return {} if rate is None else {"throughput": rate}

    def closed_loop_advice(self) -> str | None:
        """Unless they are due at a rate."""
        return None if self.options.rate else "give `rate`"

    def seconds(self) -> float | None:
        """The run as it is asked for; a load, and operations without a rate, by a guess."""
        options, rate = self.options, self.options.rate or _GUESS
        run = options.duration or (options.operations or 0) / rate
        load = options.records / (rate if options.do == "load" else _GUESS) if options.do != "run" else 0.0
        return run + load + _START * len(_STAGES[options.do])

    def _figures(self) -> YcsbFigures:
        return YcsbFigures(self.options, self.options.measured_stage)
