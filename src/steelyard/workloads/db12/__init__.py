"""`use: db12`: the DIRAC benchmark of a core."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import Field

from steelyard.plugin import Command, Metric, Output, ParseFailure, Place, Reading, Tool
from steelyard.plugin.workload import Workload, WorkloadOptions
from steelyard.workloads.kit.document import parse_last_line

_VERSION = "import importlib.metadata as found; print(found.version('db12'))"
DB12 = Tool("db12", pip="db12.lock", program="python3", version=("-c", _VERSION))
_JOB = Path(__file__).with_name("job.py")
_HS06_SECONDS = 250.0  # what one iteration was worth on the machines DB12 was calibrated on


class Db12Options(WorkloadOptions):
    """How long it runs, and how its score is told."""

    iterations: int = Field(
        1, ge=1, le=1000, description="Measured iterations, after one warm-up; each takes about 5 s."
    )
    correction: bool = Field(
        True,
        description="Let DB12 correct its score for the Python version, as its program does. It knows few "
        "versions and reports the uncorrected score for others; the facts record which it was.",
    )


class Db12(Workload[Db12Options]):
    """DB12: the speed of a core, in about ten seconds.

    **Measures** `score`, which is 250 HS06 seconds over the CPU time of an iteration: drawing 12.5 million
    numbers from a normal distribution and adding them up, in Python.

    **Source**: the DIRAC Benchmark 2012, https://github.com/DIRACGrid/DB12, from PyPI.

    **How to read it.** It measures the Python interpreter as much as the core: compare scores only with
    others from the same version of Python, as newer versions are faster. It counts CPU time, so it does not
    detect that other processes share the core, but it does detect threads that share one. Steelyard starts
    the copies (`copies: cores`); their scores add up.
    """

    Options = Db12Options
    needs = (DB12,)
    examples = ({"iterations": 1},)

    def metrics(self) -> tuple[Metric, ...]:
        """The score and what it comes from."""
        return (
            Metric("score", "1", "higher", "DB12 score, the sum over copies"),
            Metric("cpu_per_iteration", "s", "lower", "CPU time of an iteration", over_copies="mean"),
            Metric("wall_per_iteration", "s", "lower", "elapsed time of an iteration", over_copies="max"),
        )

    def command(self, place: Place) -> Command:
        """The benchmark's function, called by a few lines of ours, so that a far host needs only db12."""
        asked = {**self.options.model_dump(), "seed": place.seed + place.copy}
        return Command(DB12.argv("-", json.dumps(asked)), stdin=_JOB.read_text())

    def parse(self, phase: str, output: Output) -> Reading:
        """The job's last line. Raises ParseFailure."""
        document = parse_last_line(output.stdout, "DB12")
        cpu, wall = document.child("cpu").number(), document.child("wall").number()
        if document.child("iterations").count() != self.options.iterations or not cpu:
            raise ParseFailure("DB12 did not run the requested number of iterations")
        plain = _HS06_SECONDS * self.options.iterations / cpu
        score = document.child("score").number()
        values = {
            "score": score,
            "cpu_per_iteration": cpu / self.options.iterations,
            "wall_per_iteration": wall / self.options.iterations,
        }
        facts = {name: document.child(name).text() for name in ("db12", "python")}
        return Reading(values, facts={**facts, "corrected": abs(score - plain) > 1e-6 * plain})

    def seconds(self) -> float | None:
        """About 5 s an iteration on a core of 2020."""
        return 5.0 * (self.options.iterations + 1)
