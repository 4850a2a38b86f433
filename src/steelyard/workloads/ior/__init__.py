"""`use: ior`: bandwidth of a parallel file system, by the site's own IOR."""

from __future__ import annotations

from steelyard.plugin import Command, Metric, Output, Phase, Place, Reading, Tool
from steelyard.plugin.workload import Workload
from steelyard.workloads.ior.options import IorOptions
from steelyard.workloads.ior.output import SUMMARY, parse_summary
from steelyard.workloads.kit.site_program import GET_IT, site_command, site_tools


class Ior(Workload[IorOptions]):
    """IOR: ranks of a parallel program write and read one shared file, or a file each.

    **Measures**, for `write` and `read`, the mean over IOR's repetitions of `_bandwidth`, of requests a
    second (`_iops`), and of the time (`_time`) with its parts `_open_time`, `_transfer_time` and
    `_close_time`; with several `repetitions` also the smallest, the largest and the standard deviation of
    bandwidth and requests, as IOR's own summary has them. The record keeps the results of each repetition,
    and IOR's warnings; a trial is marked when IOR did something other than what was asked.

    **Ranks** are set beside `use`: `ranks: 8` starts 8 on each host of `on`. IOR comes from the site: on
    PATH, or by `modules`, `spack` or `program`; version 3.3 or newer. The launcher must belong to the same
    MPI as IOR. If ranks do not see each other, the trial fails.

    **Source**: https://ior.readthedocs.io; Shan and Shalf, "Using IOR to Analyze the I/O Performance for HPC
    Platforms", 2007. No registry has IOR: this entry is tested with a stand-in. It writes the JSON that IOR's
    source (src/ior-output.c) describes. The bandwidth and the time of writing and four lines of reading come
    from BigStorage D1.2 (2017); all other figures are our own.

    **How to read it.** What a host has just written, it reads from its page cache: use `reorder: constant`
    with `reorder_offset` set to the ranks of a host, `direct: true`, or data larger than the memory. Without
    `fsync`, a write may end in the page cache, too.
    """

    Options = IorOptions
    needs = (Tool("ior", version=("--version",), advice=GET_IT),)
    covers = ("CLM1", "CLM2")
    examples = (
        {"block": "1MiB", "transfer": "256KiB"},
        {
            "operation": "read",
            "block": "1MiB",
            "transfer": "256KiB",
            "repetitions": 4,
            "file_per_process": True,
        },
    )

    def tools(self, service: str | None) -> tuple[Tool, ...]:
        """IOR, unless a module, Spack or a path brings it."""
        return site_tools(self)

    def metrics(self) -> tuple[Metric, ...]:
        """Of each operation that is measured."""
        return tuple(metric for access in self._accesses() for metric in self._metrics_of(access))

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """One run of IOR; what is only read is written before."""
        if self.options.operation != "read":
            return (Phase("run", self._command(place, *(f"-{access[0]}" for access in self._accesses()))),)
        prepare = self._command(place, "-w", "-k", is_measured=False)
        return (Phase("prepare", prepare, measured=False), Phase("run", self._command(place, "-r", "-k")))

    def parse(self, phase: str, output: Output) -> Reading:
        """IOR's own summary in JSON. Raises ParseFailure."""
        return parse_summary(output, self.options, self._accesses())

    def directory(self) -> str:
        """The option of that name."""
        return self.options.directory

    def disk(self) -> int:
        """What one rank writes; how many there are is not known here."""
        return int(self.options.block) * self.options.segments

    def _accesses(self) -> tuple[str, ...]:
        return ("write", "read") if self.options.operation == "both" else (self.options.operation,)

    def _metrics_of(self, access: str) -> list[Metric]:
        means = [
            Metric(f"{access}_bandwidth", "B/s", "higher", f"bytes per second of the whole {access}"),
            Metric(f"{access}_iops", "1/s", "higher", f"{access} requests per second"),
            Metric(f"{access}_time", "s", "lower", f"time of one {access} by all ranks", over_copies="max"),
            *(
                Metric(
                    f"{access}_{part}_time", "s", "lower", f"part of that time: {about}", over_copies="max"
                )
                for part, about in (
                    ("open", "open"),
                    ("transfer", "I/O between open and close"),
                    ("close", "close"),
                )
            ),
        ]
        if self.options.repetitions == 1:
            return means
        spreads = (("max", "largest"), ("min", "smallest"), ("stddev", "standard deviation"))
        return means + [
            Metric(f"{access}_{what}_{label}", unit, "none", f"{about} of IOR's repetitions", secondary=True)
            for what, unit in (("bandwidth", "B/s"), ("iops", "1/s"))
            for label, about in spreads
        ]

    def _command(self, place: Place, *flags: str, is_measured: bool = True) -> Command:
        options = self.options
        sizes = ("-b", str(int(options.block)), "-t", str(int(options.transfer)), "-s", str(options.segments))
        words = ["-a", options.api, *sizes, "-o", str(place.scratch / "ior-data"), *flags]
        words += ["-N", str(place.ranks)] if place.ranks > 1 else []
        named = {"-F": options.file_per_process, "-c": options.collective, "-e": options.fsync}
        named |= {"--posix.odirect": options.direct, "-z": options.random}
        named["-k"] = options.keep and "-k" not in flags
        words += [flag for flag, is_set in named.items() if is_set]
        words += self._measured_words() if is_measured else []
        for directive in (*options.directives, "summaryFormat=JSON", f"summaryFile={place.raw / SUMMARY}"):
            words += ["-O", directive]
        return site_command(options, *words, *options.arguments)

    def _measured_words(self) -> list[str]:
        """What concerns neither how files are laid out nor how they are made ready."""
        options = self.options
        words = ["-i", str(options.repetitions)]
        order = {"none": [], "constant": ["-C"], "random": ["-Z"]}[options.reorder]
        words += [*order, "-Q", str(options.reorder_offset)] if order else []
        words += ["-D", str(int(options.stonewall))] if options.stonewall else []
        return words + (["-O", "stoneWallingWearOut=1"] if options.wear_out else [])
