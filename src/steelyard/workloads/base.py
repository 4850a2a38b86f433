"""The kind `workload`: what every file beside this one provides.

A workload only describes. It turns options into commands (`command`, or `phases` when there are several
stages) and output into a reading (`parse`). It never starts a process, opens a socket or looks at the host:
the controller does that, so that a workload runs on any site and can be tested without running anything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from steelyard.model.command import Command, Output, Phase, Place
from steelyard.model.engine import Engine
from steelyard.model.metric import Metric, Reading, SeriesSample
from steelyard.model.replay import ReplayedTrace
from steelyard.model.tool import Tool
from steelyard.model.trial import Scalar

ANY_SERVICE = "*"
"""In `Workload.talks_to`: whatever service there is."""


class WorkloadOptions(BaseModel):
    """Typed options of a workload; they validate the file's `workload:` mapping. Unknown keys are errors.

    Give every field a description with its unit: it becomes the catalogue and the JSON Schema.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


OptionsT = TypeVar("OptionsT", bound=WorkloadOptions)


class Workload(ABC, Generic[OptionsT]):
    """Base of all workloads.

    The subclass's docstring says what it measures, its source, and how to read the result. It sets:

    - `Options`: its `WorkloadOptions` class;
    - `needs`: the tools that must be on the host;
    - `covers`: ids of published requirements (`SKA1`);
    - `examples`: option mappings that are valid and quick, for the catalogue and the contract tests;
    - `verbatim`: options in which `${…}` is the shell's, but for `${kv.port}` and the like;
    - `words`: options that are a program with its arguments: one that lies beside the experiment is found;
    - `talks_to`: the services that it can be pointed at with `to:` (then `Place.to` is set), empty if none,
      `ANY_SERVICE` if it does not matter which;
    - `failures`: what a copy that fails costs, where several run: the `trial`, or it is a `count`, the metric
      `failure_rate`, as long as one copy succeeds;
    - `example_ranks`: with how many ranks of MPI the contract tests run its examples.

    `options` are the validated options, `levels` the parameters of the cell by name. One that submits jobs
    says with `engine_name` where; the controller then hands it the `engine`.
    """

    Options: ClassVar[type[WorkloadOptions]]
    needs: ClassVar[tuple[Tool, ...]] = ()
    covers: ClassVar[tuple[str, ...]] = ()
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    verbatim: ClassVar[frozenset[str]] = frozenset()
    words: ClassVar[frozenset[str]] = frozenset()
    talks_to: ClassVar[frozenset[str]] = frozenset()
    failures: ClassVar[Literal["trial", "count"]] = "trial"
    example_ranks: ClassVar[int] = 1

    def __init__(self, options: OptionsT, levels: Mapping[str, Scalar] | None = None) -> None:
        self.options = options
        self.levels = dict(levels or {})
        self.engine: Engine | None = None

    @classmethod
    def find_services(cls) -> frozenset[str]:
        """As `talks_to`, where that depends on the services that there are."""
        return cls.talks_to

    def engine_name(self) -> str | None:
        """The batch engine that its jobs go to, as `--site` calls it; None for a workload without jobs."""
        return None

    @abstractmethod
    def metrics(self) -> tuple[Metric, ...]:
        """Everything that `parse` may return, over all phases; it may depend on the options."""

    def command(self, place: Place) -> Command:
        """The one command of a workload with one phase. Pure."""
        raise TypeError(f"{type(self).__name__} gives neither command() nor phases()")

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """All stages in order. Pure."""
        return (Phase("run", self.command(place)),)

    @abstractmethod
    def parse(self, phase: str, output: Output) -> Reading:
        """What the output of a measured phase says. Pure but for reading `output.raw`.

        Raises ParseFailure for empty, truncated or garbage output, never returns a guess. Called only
        when the program ended with code 0.
        """

    def series(self, phase: str, output: Output) -> Sequence[SeriesSample]:
        """How its metrics went over time in a measured phase, where the output tells. Pure as `parse`."""
        return ()

    def feed(self, phase: str, stream: str, line: str) -> Mapping[str, float]:
        """What a line that a measured phase prints says of its metrics now; empty where it says nothing.

        `stream` is `stdout` or `stderr`. Called while the phase runs, so that people can watch it; pure. A
        line that raises ParseFailure is left out. Where `series` says nothing, this is the trial's series, by
        the last value of each second.
        """
        return {}

    def closed_loop_advice(self) -> str | None:
        """Where each request waits for the answer to the one before: how to have them sent when they are due.

        None where they are, and for a workload that has no requests. Few requests of a closed loop see an
        outage, as nobody sends any meanwhile; a timeline that stops a service warns of that.
        """
        return None

    def trace(self) -> ReplayedTrace | None:
        """The trace whose calls it makes again; the controller makes a plan of it, which is `Place.plan`."""
        return None

    def directory(self) -> str:
        """Where its files lie: `scratch`, or an absolute path in which the run makes (and removes) a
        directory of its own. Either way a command uses `Place.scratch` and nothing else."""
        return "scratch"

    def disk(self) -> int:
        """Bytes that one copy needs in its scratch directory, for the plan and the check before a run."""
        return 0

    def tools(self, service: str | None) -> tuple[Tool, ...]:
        """Those of `needs` that these options ask for; `service` is the kind of service it talks to."""
        return self.needs

    def seconds(self) -> float | None:
        """About how long one trial takes, in seconds, when the options tell; for the plan's estimate."""
        return None
