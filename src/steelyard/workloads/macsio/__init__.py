"""`use: macsio`: dumps of mesh data, as a simulation's plots and checkpoints."""

from __future__ import annotations

from typing import ClassVar

from steelyard.plugin import Command, Metric, Output, ParseFailure, Phase, Place, Reading, Tool
from steelyard.plugin.workload import Workload
from steelyard.workloads.kit.document import JsonNode, parse_last_line
from steelyard.workloads.kit.mpi.spread import parse_spread
from steelyard.workloads.kit.mpi.tools import DUMP
from steelyard.workloads.macsio.figures import DumpTiming, compute_figures, dump_metrics
from steelyard.workloads.macsio.log import parse_log
from steelyard.workloads.macsio.options import MacsioOptions

_LOG = "macsio-log.log"
_TIMINGS = "macsio-timings.log"
_LINES = 32  # of a rank beside those of its dumps; a log that is full drops the last
_MOST_LOG = 64 * 1024 * 1024
_BYTES_A_SECOND = 100e6  # a modest disk, for the plan
_START = 0.6  # seconds until ranks have found each other


class Macsio(Workload[MacsioOptions]):
    """Dumps of mesh parts with many variables by all ranks, with computation in between.

    **Measures**, for each dump, the time until its slowest rank is done and the rate that follows
    (`dump_time_…`, `dump_rate_…`: smallest, mean and largest over the dumps), `rate` over all dumps, the
    times of single ranks, MACSio's `summed_rate`, and `overall_rate` from first start to last end,
    computation included. The facts record which program dumped.

    **Source**: MACSio, the Multi-purpose, Application-Centric, Scalable I/O proxy (LLNL,
    https://github.com/LLNL/MACSio), as described in BigStorage D1.2 (2017). No registry has it: with
    `program: macsio`, your site's own runs, and its log is read. The default, `program: builtin`, is
    Steelyard's own proxy in C with MACSio's main options, so that it runs everywhere; its interfaces are
    posix and hdf5.

    **How to read it.** `MIF` with `files` equal to the ranks is a file per rank; with fewer files the ranks
    of a file wait for each other. `SIF` writes shared files. `rate` is what a simulation waits for; a much
    larger `summed_rate` shows that a few slow ranks hold up the others. Compare only runs of the same
    program: the meshes differ. Without `sync`, and with MACSio, rates may be those of the page cache.
    Start it with `ranks:`; without, it is one process.
    """

    Options = MacsioOptions
    needs = (DUMP,)
    covers = ("CLM1", "CLM2", "CLM3", "CLM6")
    example_ranks: ClassVar[int] = 2
    examples = (
        {"files": 2, "part_size": "8kB", "vars_per_part": 2, "num_dumps": 2},
        {"interface": "hdf5", "part_size": "8kB", "vars_per_part": 2, "num_dumps": 2, "avg_num_parts": 1.5},
        {
            "interface": "hdf5",
            "parallel_file_mode": "SIF",
            "access": "collective",
            "part_type": "unstructured",
            "part_size": "8kB",
            "vars_per_part": 2,
            "num_dumps": 2,
            "avg_num_parts": 1.5,
            "dataset_growth": 1.5,
            "compute_time": "10ms",
        },
    )

    def metrics(self) -> tuple[Metric, ...]:
        """The builtin program also knows what lies on the disk."""
        own = (Metric("file_bytes", "B", "lower", "size of all files"),) if self.options.is_builtin else ()
        return (*dump_metrics(), *own)

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """One, of whichever program; MACSio writes its logs where it runs."""
        if self.options.is_builtin:
            return (Phase("dump", self._builtin_command(place)),)
        return (Phase("dump", self._site_command(), results=(_LOG, _TIMINGS)),)

    def parse(self, phase: str, output: Output) -> Reading:
        """The program's own line, or MACSio's log. Raises ParseFailure."""
        return self._read_builtin(output) if self.options.is_builtin else self._read_log(output)

    def tools(self, service: str | None) -> tuple[Tool, ...]:
        """The program that dumps: a site's own comes from no registry."""
        if self.options.is_builtin:
            return (DUMP,)
        return (Tool(self.options.program, version=("--help",)),)

    def directory(self) -> str:
        """As the option says."""
        return self.options.directory

    def disk(self) -> int:
        """All dumps of one rank, without coordinates: how many ranks there are is not known here."""
        each = self.options.part_size * self.options.vars_per_part * self.options.avg_num_parts
        return int(
            sum(each * self.options.dataset_growth**number for number in range(self.options.num_dumps))
        )

    def seconds(self) -> float | None:
        """Computation, and a modest disk."""
        return _START + self.options.num_dumps * self.options.compute_time + self.disk() / _BYTES_A_SECOND

    def _builtin_command(self, place: Place) -> Command:
        options = self.options
        words = {
            "directory": place.scratch,
            "interface": options.interface,
            "mode": options.parallel_file_mode,
            "files": options.files,
            "parts": options.avg_num_parts,
            "part_size": int(options.part_size),
            "part_type": options.part_type,
            "vars": options.vars_per_part,
            "dumps": options.num_dumps,
            "growth": options.dataset_growth,
            "compute_time": float(options.compute_time),
            "compute_work_intensity": options.compute_work_intensity,
            "access": options.access,
            "sync": str(options.sync).lower(),
        }
        return Command(DUMP.argv(*(f"{name}={value}" for name, value in words.items())))

    def _site_command(self) -> Command:
        options = self.options
        settings: dict[str, tuple[object, ...]] = {
            "units_prefix_system": ("binary",),
            "interface": (options.interface,),
            "parallel_file_mode": (options.parallel_file_mode, options.files),
            "avg_num_parts": (options.avg_num_parts,),
            "part_size": (int(options.part_size),),
            "part_type": (options.part_type,),
            "vars_per_part": (options.vars_per_part,),
            "num_dumps": (options.num_dumps,),
            "log_file_name": (_LOG,),
            "log_line_cnt": (2 * options.num_dumps + _LINES, _LINES),
            "timings_file_name": (_TIMINGS,),
        }
        if options.dataset_growth > 1:
            settings["dataset_growth"] = (options.dataset_growth,)
        if options.compute_time:
            settings["compute_work_intensity"] = (options.compute_work_intensity,)
            settings["compute_time"] = (float(options.compute_time),)
        words = [str(word) for name, values in settings.items() for word in (f"--{name}", *values)]
        return Command((options.program, *words))

    def _read_builtin(self, output: Output) -> Reading:
        document = parse_last_line(output.stdout, DUMP.name)
        dumps = [_read_dump(node) for node in document.child("dumps").nodes()]
        if len(dumps) != self.options.num_dumps:
            raise ParseFailure(f"{len(dumps)} dumps were made, not the {self.options.num_dumps} asked for")
        numbers = {name: document.child(name).number() for name in ("elapsed", "summed_rate", "file_bytes")}
        values = compute_figures(dumps, numbers["elapsed"], numbers["summed_rate"])
        facts: dict[str, object] = {name: document.child(name).text() for name in ("library", "mpi")}
        facts |= {"program": DUMP.name, "ranks": document.child("ranks").count()}
        return Reading({**values, "file_bytes": numbers["file_bytes"]}, facts=facts)

    def _read_log(self, output: Output) -> Reading:
        if _LOG not in output.raw:
            raise ParseFailure(f"MACSio wrote no {_LOG} to the directory that it ran in")
        with output.raw[_LOG].open("rb") as file:
            text = file.read(_MOST_LOG).decode(errors="replace")
        log = parse_log(text, self.options.num_dumps)
        values = compute_figures(log.dumps, log.elapsed, log.summed_rate)
        return Reading(values, facts={"program": self.options.program, "ranks": log.ranks})


def _read_dump(node: JsonNode) -> DumpTiming:
    times = parse_spread(node.child("time"), "time")
    return DumpTiming(node.child("bytes").number(), times["time_min"], times["time_mean"], times["time_max"])
