"""`python -m bench [--quick] [--strict] [NAME …]`: measure, print tables as they fill, write the JSON."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

from rich.console import Console

from bench import results
from bench.foreign import Foreign
from bench.process import NotMeasured
from bench.row import Row
from bench.setting import Setting, changed
from bench.table import print_table

NAMES = (
    "trial",
    "start",
    "planning",
    "hostile",
    "reading",
    "sampling",
    "quiet",
    "listing",
    "lockstep",
    "sessions",
    "jobs",
    "launch",
    "encryption",
    "containers",
    "recording",
    "pods",
    "driver",
    "watching",
    "serve",
)
SLOW = ("growth", "recovery", "simulations", "fidelity")  # takes minutes: only where it is named


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; 1 with --strict when a limit was not kept, else 0."""
    asked = _asked(arguments)
    results.FOLDER.mkdir(exist_ok=True)
    rows: list[Row] = []
    console = Console()
    # Beside the results, because a temporary directory may lie in memory, where nothing is durable.
    with tempfile.TemporaryDirectory(prefix=".work-", dir=results.FOLDER) as place:
        Path(place).chmod(0o711)  # servers that give up root must be able to enter
        setting = Setting(Path(place), quick=asked.quick)
        try:
            with changed(setting.bytecode):
                for name in asked.names or NAMES:
                    print(f"measuring: {name} …", file=sys.stderr, flush=True)
                    part = measured(name, import_module(f"bench.{name}").rows, setting)
                    print_table(part, console)
                    rows += part
        finally:  # who ends a long session early keeps what it has measured
            print(results.write(rows, results.FOLDER, quick=asked.quick))
    return int(asked.strict and any(row.missed for row in rows))


def measured(name: str, benchmark: Callable[[Setting], Iterator[Row]], setting: Setting) -> list[Row]:
    """The rows of a benchmark with the foreign load; what could not be measured is a row that says why."""
    foreign = Foreign()
    found: list[Row] = []
    try:
        for row in benchmark(setting):
            found.append(row)  # noqa: PERF402 - those before a failure are kept
    except NotMeasured as reason:
        found.append(Row(name, f"the rest of {name}", "1", (), note=str(reason)))
    share = foreign.share()
    return [dataclasses.replace(row, foreign=share) for row in found]


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Steelyard itself.")
    each = f"any of {', '.join(NAMES)}, all of these by default; or {', '.join(SLOW)}, which take minutes"
    parser.add_argument("names", nargs="*", metavar="NAME", help=each)
    parser.add_argument("--quick", action="store_true", help="fewer turns and trials, for a first impression")
    parser.add_argument("--strict", action="store_true", help="exit code 1 when a limit is not kept")
    asked = parser.parse_args(arguments)
    if unknown := [name for name in asked.names if name not in NAMES + SLOW]:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES + SLOW)}")
    return asked


if __name__ == "__main__":
    sys.exit(main())
