"""`use: iozone`: rates of a file system by pattern of access, by the host's own iozone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal

from steelyard.plugin import Command, Metric, Output, Place, Reading, Tool
from steelyard.plugin.workload import Workload
from steelyard.workloads.iozone.options import IozoneOptions
from steelyard.workloads.iozone.output import check_run, parse_sections, parse_table
from steelyard.workloads.kit.site_program import site_command, site_tools

_ADVICE = (
    "Debian and Ubuntu have it as iozone3 in non-free and multiverse, Spack as iozone; "
    "load it with `modules: [NAME/VERSION]` or `spack: iozone`, or give its path"
)
_SPREADS: dict[Literal["min", "max", "mean"], str] = {
    "min": "the slowest",
    "max": "the fastest",
    "mean": "an average",
}


class Iozone(Workload[IozoneOptions]):
    """iozone writes and reads files in sequence, at random, backwards, in strides and through stdio.

    **Measures** bytes a second of each test: `write_bandwidth` and `rewrite_bandwidth`, `read_…` and
    `reread_…`, `random_read_…` and `random_write_…`, `reverse_read_…`, `record_rewrite_…`, `stride_read_…`,
    `fwrite_…`, `refwrite_…`, `fread_…`, `refread_…`, `pwrite_…`, `pread_…`. A trial has one size of file and
    one of record: what is a matrix in iozone's auto mode are parameters of an experiment here, such as
    `parameters: {record: [4KiB, 64KiB, 1MiB]}` with `record: ${record}`.

    **Throughput mode.** With `processes`, a rate is what iozone calls "Children see throughput": the sum of
    the rates of all processes. Beside it stand what the parent process saw (`_parent`) and the slowest, the
    fastest and the average process (`_min`, `_max`, `_mean`). iozone stops all processes when the first has
    finished, unless `finish_all` is set; if one had moved nothing by then, the trial fails.

    **Source**: https://www.iozone.org; Norcott and Capps, "Iozone Filesystem Benchmark". No free registry has
    iozone: this entry is tested with a stand-in. It prints the figures of iozone 3.506 that the log
    of ByteOS (on ext4) shows: `-a -r 1k -s 4m`, and `-t 4 -r 1k -s 1m` with pairs of tests.

    **How to read it.** What was just written is read from the page cache: use `direct: true`, or a `size`
    above the memory. Without `fsync` or `close`, a write may end in the page cache, too. Tests after `write`
    use its file, and each second test (rewrite, reread) finds it warm. The kB of iozone has 1024 bytes.
    """

    Options = IozoneOptions
    needs = (Tool("iozone", version=("-v",), advice=_ADVICE),)
    examples = (
        {"size": "4MiB", "record": "1KiB", "tests": ["write", "read", "random", "reverse", "stride"]},
        {"size": "1MiB", "record": "1KiB", "processes": 4, "tests": ["write", "read"]},
    )

    def tools(self, service: str | None) -> tuple[Tool, ...]:
        """iozone, unless a module, Spack or a path brings it."""
        return site_tools(self)

    def metrics(self) -> tuple[Metric, ...]:
        """A rate for each part of each test; with processes also how it spreads over them."""
        return tuple(metric for name in self._names() for metric in self._metrics_of(name))

    def command(self, place: Place) -> Command:
        """One run of iozone."""
        options = self.options
        words = [] if options.processes else ["-a"]
        words += ["-s", f"{options.size // 1024}k", "-r", f"{options.record // 1024}k"]
        words += [word for pattern in options.list_patterns() for word in ("-i", str(pattern.number))]
        named = {"-I": options.direct, "-e": options.fsync, "-c": options.close, "-o": options.sync}
        named |= {"-T": options.threads, "-x": options.finish_all}
        words += [flag for flag, is_set in named.items() if is_set]
        return site_command(options, *words, *options.arguments, *self._file_words(place.scratch))

    def parse(self, phase: str, output: Output) -> Reading:
        """Its table, or its sections. Raises ParseFailure."""
        options = self.options
        version = check_run(output.stdout)
        if options.processes is None:
            columns = list(self._names())
            rates = parse_table(output.stdout, int(options.size), int(options.record), columns)
            values = {f"{name}_bandwidth": rate for name, rate in rates.items()}
            return Reading(values, facts={"iozone": version})
        sections = parse_sections(output.stdout, options.processes, self._names())
        values = {f"{name}_bandwidth": rates.children for name, rates in sections.items()}
        for label in ("parent", *_SPREADS):
            values |= {f"{name}_bandwidth_{label}": getattr(rates, label) for name, rates in sections.items()}
        least = {name: rates.least for name, rates in sections.items()}
        return Reading(values, facts={"iozone": version, "least_bytes_of_a_process": least})

    def directory(self) -> str:
        """The option of that name."""
        return self.options.directory

    def disk(self) -> int:
        """A file for each process."""
        return int(self.options.size) * (self.options.processes or 1)

    def _names(self) -> dict[str, str]:
        """The metrics without their ending, with iozone's name of each in throughput mode."""
        patterns = self.options.list_patterns()
        if self.options.processes is None:
            return {name: name for pattern in patterns for name in pattern.columns}
        return {name: who for pattern in patterns for name, who in pattern.sections.items()}

    def _metrics_of(self, name: str) -> Iterator[Metric]:
        title = name.replace("_", " ")
        yield Metric(f"{name}_bandwidth", "B/s", "higher", f"bytes per second of {title}")
        if self.options.processes is None:
            return
        about = f"bytes per second of {title} over the time that the parent process saw"
        yield Metric(f"{name}_bandwidth_parent", "B/s", "higher", about, secondary=True)
        for label, which in _SPREADS.items():
            about = f"bytes per second of {which} process"
            yield Metric(f"{name}_bandwidth_{label}", "B/s", "none", about, over_copies=label, secondary=True)

    def _file_words(self, scratch: PurePosixPath) -> list[str]:
        """Where it works; iozone wants the number of processes before their files."""
        count = self.options.processes
        if count is None:
            return ["-f", str(scratch / "iozone")]
        return ["-t", str(count), "-F", *(str(scratch / f"iozone.{index}") for index in range(count))]
