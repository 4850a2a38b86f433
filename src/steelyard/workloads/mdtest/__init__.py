"""`use: mdtest`: metadata rates of a parallel file system, by the site's own mdtest."""

from __future__ import annotations

from steelyard.plugin import Command, Metric, Output, ParseFailure, Place, Reading, Tool
from steelyard.plugin.workload import Workload
from steelyard.workloads.kit.site_program import GET_IT, site_command, site_tools
from steelyard.workloads.mdtest.options import MdtestOptions
from steelyard.workloads.mdtest.output import parse_tables

_NOUNS = {"create": "creation", "stat": "stat", "read": "read", "remove": "removal"}
_FLAGS = {"create": "-C", "stat": "-T", "read": "-E", "remove": "-r"}


class Mdtest(Workload[MdtestOptions]):
    """mdtest: ranks of a parallel program create, stat, read and remove files and directories.

    **Measures** operations a second over all ranks, as the mean of mdtest's repetitions:
    `file_create_rate`, `file_stat_rate`, `file_read_rate`, `file_remove_rate`, the same of `directory_…`
    (which cannot be read), and `tree_create_rate` and `tree_remove_rate` for the tree that holds them. With
    several `repetitions` also the smallest, the largest and the standard deviation.

    **Ranks** are set beside `use`: `ranks: 8` starts 8 on each host of `on`. mdtest comes with IOR, from the
    site: on PATH, or by `modules`, `spack` or `program`. The launcher must belong to the same MPI. If ranks
    do not see each other, the trial fails.

    **Source**: https://github.com/hpc/ior, doc/mdtest.1. No registry has mdtest: this entry is tested with a
    stand-in that prints tables of mdtest 3.4 and 4.1 with published figures. Those of 3.4 are a user's of
    TableFS (2020); those of 4.1 are of libnfs (2025). What these two lack, the file read of 3.4 and the
    directories of 4.1, comes from another user's run of mdtest 4.1 (2026).

    **How to read it.** A client that created items may answer `stat` and `read` from its own cache: set
    `shift: 1` with several hosts. Without `write_bytes`, files are empty and `read` only opens and closes.
    """

    Options = MdtestOptions
    needs = (Tool("mdtest", version=("--version",), advice=GET_IT),)
    covers = ("CLM1",)
    examples = (
        {"items": 100},
        {"target": "files", "items_per_directory": 16, "repetitions": 10, "unique_directories": True},
    )

    def tools(self, service: str | None) -> tuple[Tool, ...]:
        """mdtest, unless a module, Spack or a path brings it."""
        return site_tools(self)

    def metrics(self) -> tuple[Metric, ...]:
        """A rate for each test of each target."""
        return tuple(metric for name, row in self._rows().items() for metric in self._metrics_of(name, row))

    def command(self, place: Place) -> Command:
        """One run of mdtest."""
        options = self.options
        each = options.items_per_directory
        words = ["-a", options.api, *(("-I", str(each)) if each else ("-n", str(options.wanted_items)))]
        words += ["-z", str(options.depth), "-b", str(options.branch), "-i", str(options.repetitions)]
        words += {"files": ["-F"], "directories": ["-D"], "both": []}[options.target]
        words += [_FLAGS[test] for test in _NOUNS if test in options.tests]
        named = {"-L": options.leaf_only, "-u": options.unique_directories}
        named |= {"-y": options.fsync, "-Y": options.sync}
        words += [flag for flag, is_set in named.items() if is_set]
        numbers = {"-N": options.shift, "-w": int(options.write_bytes), "-e": int(options.read_bytes)}
        numbers["-W"] = int(options.stonewall or 0)
        words += [word for flag, number in numbers.items() if number for word in (flag, str(number))]
        return site_command(options, *words, *options.arguments, "-d", str(place.scratch / "mdtest"))

    def parse(self, phase: str, output: Output) -> Reading:
        """Its table. Raises ParseFailure."""
        result = parse_tables(output.stdout, self.options.repetitions)
        values: dict[str, float] = {}
        for name, row in self._rows().items():
            rate = result.rates.get(row)
            if rate is None or not rate.mean:
                raise ParseFailure(f"mdtest has no rate of '{row}', although it was asked for")
            values[name] = rate.mean
            if self.options.repetitions > 1:
                values |= {f"{name}_{label}": getattr(rate, label) for label in ("max", "min", "stddev")}
        facts = {"mdtest": result.version, "ranks": result.ranks, "hosts": result.hosts}
        return Reading(values, facts={**facts, "warnings": list(result.warnings)})

    def directory(self) -> str:
        """The option of that name."""
        return self.options.directory

    def disk(self) -> int:
        """What one rank writes; how many there are is not known here."""
        options = self.options
        each = options.items_per_directory
        count = each * options.count_directories() if each else options.wanted_items
        return count * int(options.write_bytes)

    def _rows(self) -> dict[str, str]:
        """The names of metrics, and of the rows that they are read from."""
        options = self.options
        targets = {"files": ["File"], "directories": ["Directory"], "both": ["Directory", "File"]}
        rows = {
            f"{target.lower()}_{test}_rate": f"{target} {noun}"
            for target in targets[options.target]
            for test, noun in _NOUNS.items()
            if test in options.tests and (target, test) != ("Directory", "read")
        }
        trees = {f"tree_{test}_rate": f"Tree {_NOUNS[test]}" for test in ("create", "remove")}
        return rows | {name: row for name, row in trees.items() if name.split("_")[1] in options.tests}

    def _metrics_of(self, name: str, row: str) -> list[Metric]:
        metrics = [Metric(name, "1/s", "higher", f"{row.lower()}: operations per second over all ranks")]
        if self.options.repetitions == 1:
            return metrics
        spreads = {"max": "largest", "min": "smallest", "stddev": "standard deviation"}
        return metrics + [
            Metric(f"{name}_{label}", "1/s", "none", f"{about} of mdtest's repetitions", secondary=True)
            for label, about in spreads.items()
        ]
