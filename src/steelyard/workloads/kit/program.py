"""A program that the user names, and the figures in its output: what `command` and `hecuba` share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.errors import ParseFailure
from steelyard.model.command import Command, Output, Phase, Place
from steelyard.model.keys.program import Program
from steelyard.model.metric import Metric, Reading
from steelyard.model.paths import ScratchOrAbsolute
from steelyard.model.unit import base_unit
from steelyard.workloads.base import ANY_SERVICE, Workload, WorkloadOptions
from steelyard.workloads.kit.figures import FigureSource, find_figure, find_figure_in, parse_path
from steelyard.workloads.kit.service_env import add_service_variables

_OWN = (
    Metric("wall", "s", "lower", "elapsed time of the program", over_copies="max"),
    Metric("user", "s", "lower", "CPU time in user mode, including child processes"),
    Metric("system", "s", "lower", "CPU time in the kernel, including child processes"),
    Metric("peak_memory", "B", "lower", "largest resident set of any of its processes", over_copies="max"),
)


class FigureOptions(WorkloadOptions):
    """How to find a figure in what the program prints or writes: by `json` or by `regex`."""

    json_path: str | None = Field(None, alias="json", description="A path such as results[0].rate")
    regex: str | None = Field(
        None,
        description="A pattern whose only group is the number, or it and its unit; the last match counts",
    )
    source: str = Field(
        "stdout",
        alias="from",
        description="stdout, stderr, or a file that the program writes to $RAW or its working directory",
    )
    unit: str = Field(
        "1",
        description="The unit of a bare number: s, ms, B, MiB/s, 1/s, %, 1, or any word such as GFLOP/s. "
        "Units in the output (`43.99ms`) are converted",
    )
    better: Literal["higher", "lower", "none"] = "none"

    @model_validator(mode="after")
    def _check_lookup(self) -> Self:
        if (self.json_path is None) == (self.regex is None):
            raise ValueError("a metric needs either 'json' or 'regex'")
        return self

    @field_validator("regex")
    @classmethod
    def _check_regex(cls, value: str | None) -> str | None:
        try:
            groups = re.compile(value or "()").groups
        except re.error as error:
            raise ValueError(f"'{value}' is not a regular expression: {error}") from None
        if groups != 1:
            raise ValueError(f"'{value}' needs exactly one group ( ) around the number")
        return value

    @field_validator("json_path")
    @classmethod
    def _check_json_path(cls, value: str | None) -> str | None:
        if value is not None:
            list(parse_path(value))
        return value

    @field_validator("source")
    @classmethod
    def _check_source(cls, value: str) -> str:
        if "/" in value or value in ("", ".", ".."):
            raise ValueError(f"'{value}' is not stdout, stderr or the name of a file in $RAW")
        return value

    @field_validator("unit")
    @classmethod
    def _check_unit(cls, value: str) -> str:
        base_unit(value)
        return value


class CommandOptions(Program, WorkloadOptions):
    """A program, and what its figures are."""

    stdin: str | None = Field(None, description="Text for standard input")
    directory: ScratchOrAbsolute = Field(
        "scratch",
        description="The directory it runs in: scratch, an absolute path, or a service that is a file system",
    )
    metrics: dict[str, FigureOptions] = Field(
        default_factory=dict, description="Figures to extract from its output"
    )

    @field_validator("metrics")
    @classmethod
    def _check_metrics(cls, value: dict[str, FigureOptions]) -> dict[str, FigureOptions]:
        for name in value:
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
                raise ValueError(f"metric '{name}' must consist of lower-case letters, digits or '_'")
            if name in {metric.name for metric in _OWN}:
                raise ValueError(f"metric '{name}' is already built in; choose another name")
        return value


class ProgramWorkload(Workload[CommandOptions]):
    """A program of the user's: its times, its memory, and the figures that its options find in its output."""

    Options = CommandOptions
    talks_to = frozenset({ANY_SERVICE})
    verbatim: ClassVar[frozenset[str]] = frozenset({"script"})
    words: ClassVar[frozenset[str]] = frozenset({"run"})

    def metrics(self) -> tuple[Metric, ...]:
        """Our own four, then those of the file."""
        entries = self.options.metrics.items()
        return (*_OWN, *(Metric(name, base_unit(entry.unit).unit, entry.better) for name, entry in entries))

    def command(self, place: Place) -> Command:
        """The program, with RAW and (for a script) the parameters in its environment."""
        command = self.options.command(self.levels, {"RAW": str(place.raw)})
        return add_service_variables(replace(command, stdin=self.options.stdin), place)

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """The one command, and the files that figures are read from."""
        files = {entry.source for entry in self.options.metrics.values()} - {"stdout", "stderr"}
        return (Phase("run", self.command(place), results=tuple(sorted(files))),)

    def parse(self, phase: str, output: Output) -> Reading:
        """Times and memory from the kernel, the rest from the output."""
        ended = output.exit
        own = {"wall": ended.wall, "user": ended.user, "system": ended.system}
        values = {**own} if ended.peak_memory is None else {**own, "peak_memory": float(ended.peak_memory)}
        values |= {source.name: find_figure(source, output) for source in self._sources()}
        return Reading(values, bounds=frozenset({"peak_memory"} if ended.peak_is_bound else ()))

    def feed(self, phase: str, stream: str, line: str) -> Mapping[str, float]:
        """The figures that a line holds."""
        figures: dict[str, float] = {}
        for source in self._sources():
            if source.regex is not None and source.where == stream:
                with suppress(ParseFailure):
                    figures[source.name] = find_figure_in(source, line)
        return figures

    def directory(self) -> str:
        """The option of that name."""
        return self.options.directory

    def _sources(self) -> list[FigureSource]:
        return [
            FigureSource(name, entry.source, entry.json_path, entry.regex, entry.unit)
            for name, entry in self.options.metrics.items()
        ]
